"""Starting programs whose processes reach each other by TCP, in tests: one command for all of them."""

import os
import shlex


def command(program, folder, addresses, *arguments, prefixes=None):
    """The command line of a job: a process at each address, which gets its number, how many there are,
    an empty folder to meet in, and its address; `prefixes`, one each, say where it runs."""
    lines = []
    for member, address in enumerate(addresses):
        prefix = prefixes[member] if prefixes else []
        lines.append(shlex.join([*prefix, program, str(member), str(len(addresses)), folder, address,
                                 *arguments]) + " &")
    return ["sh", "-c", "\n".join([*lines, "wait"])]


def environment():
    return {"PATH": os.environ["PATH"]}
