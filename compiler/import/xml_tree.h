// ReadXml: XML as a tree of elements, each attribute with its place. For files of other systems.
//
// Only elements and attributes: a document type (and with it every entity of a file's own) and text
// between elements are refused, and so are files, depths and numbers of elements beyond the limits
// below. Comments, processing instructions, character references and the five predefined entities
// are fine. The encoding is UTF-8.
#ifndef RESHARD_COMPILER_IMPORT_XML_TREE_H_
#define RESHARD_COMPILER_IMPORT_XML_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

inline constexpr size_t kMaxXmlBytes = size_t{64} << 20;
inline constexpr size_t kMaxXmlDepth = 64;
inline constexpr size_t kMaxXmlNodes = 1'000'000;  // elements and attributes

struct XmlAttribute {
  std::string name;
  std::string value;
  Span span;  // of the value, without its quotes
};

struct XmlElement {
  std::string name;
  Span span;  // "<name"
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;

  const XmlAttribute* Find(std::string_view attribute) const;
};

// Reads file number `file`. Returns false after an error was reported.
[[nodiscard]] bool ReadXml(const SourceMap& sources, uint32_t file, Diagnostics* diags,
                           XmlElement* root);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_XML_TREE_H_
