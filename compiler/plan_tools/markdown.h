// Text for Markdown: names from files must not become markup, links, mentions or cells of tables.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_MARKDOWN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_MARKDOWN_H_

#include <string>
#include <string_view>

namespace reshard {

// <code>text</code> with everything that Markdown or HTML reads as markup as numeric entities, on
// one line. Nothing for an empty text. Control characters are escaped first.
std::string MarkdownCode(std::string_view text);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_MARKDOWN_H_
