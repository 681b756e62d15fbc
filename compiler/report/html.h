// HTML text: everything that comes from a file stands in a page as text, never as markup.
#ifndef RESHARD_COMPILER_REPORT_HTML_H_
#define RESHARD_COMPILER_REPORT_HTML_H_

#include <string>
#include <string_view>

namespace reshard {

// For text and for attributes in double quotes. Control characters, direction marks and the like
// are shown as escapes first, as on a terminal.
std::string HtmlText(std::string_view text);

// JSON that may stand inside <script>: no "<" is left in it, which JSON has in strings only.
std::string JsonForHtml(std::string_view json);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_HTML_H_
