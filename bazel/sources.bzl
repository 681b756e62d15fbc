"""The C++ files of this repository that programs are made of, for tests that read code."""

_Sources = provider(fields = ["files"])

def _collect(_target, ctx):
    own = [
        file
        for attribute in ("srcs", "hdrs", "textual_hdrs")
        for file in getattr(ctx.rule.files, attribute, [])
        if file.is_source and not file.path.startswith("external/")
    ]
    below = [
        dep[_Sources].files
        for attribute in ("srcs", "deps")
        for dep in getattr(ctx.rule.attr, attribute, [])
        if _Sources in dep
    ]
    return [_Sources(files = depset(own, transitive = below))]

_sources_aspect = aspect(implementation = _collect, attr_aspects = ["srcs", "deps"])

def _sources_of(ctx):
    files = depset(transitive = [target[_Sources].files for target in ctx.attr.targets])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

# All that `targets` and what they depend on are compiled from.
sources_of = rule(
    implementation = _sources_of,
    attrs = {"targets": attr.label_list(aspects = [_sources_aspect])},
)
