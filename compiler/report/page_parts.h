// The style sheet and the scripts of the page, embedded when this is built: files of page/.
#ifndef RESHARD_COMPILER_REPORT_PAGE_PARTS_H_
#define RESHARD_COMPILER_REPORT_PAGE_PARTS_H_

#include <string_view>

namespace reshard {

std::string_view PageStyle();
std::string_view PageScript();

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_PAGE_PARTS_H_
