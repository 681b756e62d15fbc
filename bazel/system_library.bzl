"""A repository rule that makes an installed system library a Bazel target.

The headers are linked into the external repository, so that Bazel tracks them
(an upgrade of the package rebuilds what includes them) and so that the compiler
sees them as system headers, which our warnings do not apply to.
"""

_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = {visibility})

cc_library(
    name = "{name}",
    hdrs = glob(["include/**"]),
    defines = {defines},
    includes = ["include"],
    linkopts = {linkopts},
)
"""

_TOOL = """
filegroup(
    name = "{tool}",
    srcs = ["bin/{tool}"],
)
"""

# In the place of an optional library that is not installed.
_ABSENT = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = {visibility})

cc_library(name = "{name}")
"""

def _missing(what, package):
    fail(("\n\n  {what} is missing. Install the Debian package '{package}' " +
          "(or run tools/setup, which installs all that the build needs).\n").format(
        what = what,
        package = package,
    ))

def _find_root(ctx):
    """The first folder of `roots` that has all headers; where none has, the first."""
    for root in ctx.attr.roots:
        if all([ctx.path(root + "/" + header).exists for header in ctx.attr.headers]):
            return root
    return ctx.attr.roots[0]

def _label(user):
    if user.endswith("/..."):
        return "@//" + user[:-len("/...")] + ":__subpackages__"
    return "@//" + user + ":__pkg__"

def _system_library_impl(ctx):
    visibility = repr([_label(user) for user in ctx.attr.users] or ["//visibility:public"])
    root = _find_root(ctx)
    if ctx.attr.optional_define:
        headers = [ctx.path(root + "/" + header) for header in ctx.attr.headers]
        if not all([path.exists for path in headers]):
            text = _ABSENT.format(name = ctx.name, visibility = visibility)
            ctx.file("BUILD.bazel", text, executable = False)
            ctx.file("present.bzl", "PRESENT = False\n", executable = False)
            return
    for header in ctx.attr.headers:
        path = ctx.path(root + "/" + header)
        if not path.exists:
            _missing(str(path), ctx.attr.package)
        ctx.symlink(path, "include/" + header)
    build = _BUILD.format(
        name = ctx.name,
        defines = repr(ctx.attr.defines +
                       ([ctx.attr.optional_define] if ctx.attr.optional_define else [])),
        linkopts = repr(ctx.attr.linkopts),
        visibility = visibility,
    )
    if ctx.attr.tool:
        tool = ctx.which(ctx.attr.tool)
        if not tool:
            _missing("the program " + ctx.attr.tool, ctx.attr.tool_package)
        ctx.symlink(tool, "bin/" + ctx.attr.tool)
        build += _TOOL.format(tool = ctx.attr.tool)
    ctx.file("BUILD.bazel", build, executable = False)
    ctx.file("present.bzl", "PRESENT = True\n", executable = False)

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "defines": attr.string_list(),
        "headers": attr.string_list(
            mandatory = True,
            doc = "Files or folders under the root.",
        ),
        "linkopts": attr.string_list(),
        "optional_define": attr.string(
            doc = "Where it is given the library may be absent: an empty target then stands in " +
                  "for it, and what depends on it sees this macro only if it is there. BUILD files " +
                  "can load PRESENT from @NAME//:present.bzl.",
        ),
        "package": attr.string(
            mandatory = True,
            doc = "Debian package that owns the headers.",
        ),
        "roots": attr.string_list(
            default = ["/usr/include"],
            doc = "Where the headers may be; the first folder that has them all is used.",
        ),
        "tool": attr.string(doc = "A program on PATH that comes with the library."),
        "tool_package": attr.string(doc = "Debian package that owns the tool."),
        "users": attr.string_list(
            doc = "Packages that may depend on it ('a/b' or 'a/b/...'); all if empty.",
        ),
    },
    local = True,
)
