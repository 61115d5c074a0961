// SPDX-License-Identifier: MIT
// Is a page well-formed XML? As much of it as pages use: elements, attributes in quotes, the
// entities of XML, no comments.
#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace test_support {

struct page_element {
  std::string tag;
  std::map<std::string, std::string> attributes;  // as they stand in the page
  std::string text;                               // directly inside of it, as it stands there
  int parent = -1;
};

// The elements in the order of their tags, or what is wrong.
struct page_reader {
  explicit page_reader(std::string_view page) : page_(page) {
    if (page_.starts_with("<!DOCTYPE html>")) at_ = 15;
    while (error.empty() && at_ < page_.size()) page_[at_] == '<' ? read_tag() : read_text();
    if (error.empty() && !open_.empty()) error = "not closed: " + elements[top()].tag;
  }

  std::vector<page_element> elements;
  std::string error;

 private:
  std::size_t top() const { return static_cast<std::size_t>(open_.back()); }

  std::string name() {
    const std::size_t first = at_;
    while (at_ < page_.size() &&
           (std::isalnum(static_cast<unsigned char>(page_[at_])) != 0 || page_[at_] == '-'))
      ++at_;
    if (at_ == first) error = "no name at " + std::to_string(at_);
    return std::string(page_.substr(first, at_ - first));
  }

  void check_text(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x20 && byte != '\n' && byte != '\t') error = "a control character";
      if (text[i] != '&') continue;
      const std::string_view entity = text.substr(i, text.find(';', i) - i + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;" &&
          entity != "&#39;")
        error = "not an entity: " + std::string(text.substr(i, 10));
    }
  }

  void read_text() {
    const std::size_t end = std::min(page_.find('<', at_), page_.size());
    const std::string_view text = page_.substr(at_, end - at_);
    check_text(text);
    if (!open_.empty())
      elements[top()].text += text;
    else if (text.find_first_not_of("\n ") != std::string_view::npos)
      error = "text outside of the page";
    at_ = end;
  }

  void read_tag() {
    ++at_;
    if (at_ < page_.size() && page_[at_] == '/') {
      ++at_;
      const std::string tag = name();
      if (open_.empty() || elements[top()].tag != tag) error = "closed but not open: " + tag;
      if (at_ >= page_.size() || page_[at_++] != '>') error = "no > behind " + tag;
      if (error.empty()) open_.pop_back();
      return;
    }
    page_element made{name(), {}, "", open_.empty() ? -1 : open_.back()};
    while (error.empty() && at_ < page_.size() && page_[at_] == ' ') {
      ++at_;
      const std::string key = name();
      if (page_.substr(at_, 2) != "=\"") error = "an attribute without quotes: " + key;
      const std::size_t end = page_.find('"', at_ + 2);
      if (end == std::string_view::npos) error = "no end of " + key;
      if (!error.empty()) return;
      const std::string_view value = page_.substr(at_ + 2, end - at_ - 2);
      if (value.find('<') != std::string_view::npos) error = "< in " + key;
      check_text(value);
      if (!made.attributes.emplace(key, value).second) error = "twice: " + key;
      at_ = end + 1;
    }
    const bool is_empty = page_.substr(at_, 2) == "/>";
    at_ += is_empty ? 2 : 1;
    if (at_ > page_.size() || page_[at_ - 1] != '>') error = "no > behind " + made.tag;
    elements.push_back(std::move(made));
    if (!is_empty) open_.push_back(static_cast<int>(elements.size()) - 1);
  }

  std::string_view page_;
  std::size_t at_ = 0;
  std::vector<int> open_;
};

}  // namespace test_support
