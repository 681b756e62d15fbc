#include "compiler/import/xml_tree.h"

#include <expat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/check.h"

namespace reshard {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class XmlReader {
 public:
  XmlReader(std::string_view text, uint32_t file, Diagnostics* diags)
      : text_(text), file_(file), diags_(*diags), parser_(XML_ParserCreate("UTF-8")) {
    RESHARD_CHECK(parser_ != nullptr, "no memory for a parser");
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), &OnStart, &OnEnd);
    XML_SetCharacterDataHandler(parser_.get(), &OnText);
    XML_SetStartDoctypeDeclHandler(parser_.get(), &OnDoctype);
  }

  bool Read(XmlElement* root) {
    const XML_Status status =
        XML_Parse(parser_.get(), text_.data(), static_cast<int>(text_.size()), XML_TRUE);
    if (failed_) return false;
    if (status != XML_STATUS_OK) {
      Fail(DiagnosticCode::kBadXml,
           std::string("the text is no XML: ") + XML_ErrorString(XML_GetErrorCode(parser_.get())));
      return false;
    }
    *root = std::move(root_);
    return true;
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  using Parser = std::unique_ptr<XML_ParserStruct, Free>;

  static void XMLCALL OnStart(void* self, const XML_Char* name, const XML_Char** attributes) {
    static_cast<XmlReader*>(self)->Start(name, attributes);
  }
  static void XMLCALL OnEnd(void* self, const XML_Char*) {
    static_cast<XmlReader*>(self)->open_.pop_back();
  }
  static void XMLCALL OnText(void* self, const XML_Char* text, int bytes) {
    static_cast<XmlReader*>(self)->Text({text, static_cast<size_t>(bytes)});
  }
  static void XMLCALL OnDoctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*,
                                int) {
    static_cast<XmlReader*>(self)->Fail(
        DiagnosticCode::kUnsupported,
        "the file has a document type, with which it could define entities: it is not read");
  }

  size_t At() const {
    const XML_Index at = XML_GetCurrentByteIndex(parser_.get());
    return at < 0 ? 0 : std::min(static_cast<size_t>(at), text_.size());
  }

  Span SpanOf(size_t begin, size_t end) const {
    return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  // Reports once and stops the parser.
  void Fail(DiagnosticCode code, std::string text) {
    if (failed_) return;
    failed_ = true;
    const size_t at = At();
    diags_.Error(code, at < text_.size() ? SpanOf(at, at + 1) : Span{file_, 0, 0}, std::move(text));
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void Text(std::string_view text) {
    if (std::all_of(text.begin(), text.end(), IsBlank)) return;
    Fail(DiagnosticCode::kUnsupported, "found text between elements, expected elements only");
  }

  void Start(const XML_Char* name, const XML_Char** attributes) {
    if (failed_) return;
    if (open_.size() == kMaxXmlDepth) {
      Fail(DiagnosticCode::kTooLarge,
           "elements are nested deeper than " + std::to_string(kMaxXmlDepth) + " levels");
      return;
    }
    XmlElement element;
    element.name = name;
    const size_t at = At();
    size_t scan = at + 1 + element.name.size();
    element.span = SpanOf(at, scan);
    for (; *attributes != nullptr; attributes += 2) {
      element.attributes.push_back({attributes[0], attributes[1], ValueSpan(&scan)});
    }
    node_count_ += 1 + element.attributes.size();
    if (node_count_ > kMaxXmlNodes) {
      Fail(DiagnosticCode::kTooLarge,
           "the file has more than " + std::to_string(kMaxXmlNodes) + " elements and attributes");
      return;
    }
    XmlElement* place = &root_;
    if (!open_.empty()) place = &open_.back()->children.emplace_back();
    *place = std::move(element);
    open_.push_back(place);
  }

  // The place of the next attribute's value in a start tag that the parser has accepted.
  Span ValueSpan(size_t* scan) const {
    const auto byte = [&] { return *scan < text_.size() ? text_[*scan] : '\0'; };
    while (byte() != '=' && byte() != '\0') ++*scan;
    while (byte() != '"' && byte() != '\'' && byte() != '\0') ++*scan;
    const char quote = byte();
    const size_t begin = std::min(*scan + 1, text_.size());
    const size_t end = std::min(text_.find(quote, begin), text_.size());
    *scan = std::min(end + 1, text_.size());
    return SpanOf(begin, end);
  }

  std::string_view text_;
  uint32_t file_;
  Diagnostics& diags_;
  Parser parser_;
  XmlElement root_;
  // The elements whose end is not read yet. While one is open, the list that it is in does not
  // grow.
  std::vector<XmlElement*> open_;
  size_t node_count_ = 0;
  bool failed_ = false;
};

}  // namespace

const XmlAttribute* XmlElement::Find(std::string_view attribute) const {
  for (const XmlAttribute& known : attributes) {
    if (known.name == attribute) return &known;
  }
  return nullptr;
}

bool ReadXml(const SourceMap& sources, uint32_t file, Diagnostics* diags, XmlElement* root) {
  const std::string_view text = sources.text(file);
  if (text.size() > kMaxXmlBytes) {
    diags->Error(DiagnosticCode::kTooLarge, Span{file, 0, 0},
                 "the file has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(kMaxXmlBytes) + " are read");
    return false;
  }
  // expat knows UTF-16 by its first bytes whatever it was told, and spans are bytes of UTF-8, which
  // has no 0 in XML.
  const size_t zero = text.find('\0');
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || zero < text.size()) {
    const uint32_t at = zero < text.size() ? static_cast<uint32_t>(zero) : 0;
    diags->Error(DiagnosticCode::kBadXml, Span{file, at, at + 1},
                 "the file is not UTF-8, expected it in that encoding");
    return false;
  }
  return XmlReader(text, file, diags).Read(root);
}

}  // namespace reshard
