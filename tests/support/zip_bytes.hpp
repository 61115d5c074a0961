// SPDX-License-Identifier: MIT
// .zip files byte by byte, with whatever in their fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace test_support {

// The checksum of .zip files (IEEE 802.3).
inline std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

struct zip_member {
  std::string name;
  std::string data;  // as it lies in the file
  std::uint32_t crc;
  std::uint32_t size;  // when decompressed
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  // Where the list says that it begins; a member with a place is not written.
  std::optional<std::size_t> place;

  zip_member(std::string member_name, std::string stored)
      : name(std::move(member_name)),
        data(std::move(stored)),
        crc(crc32(data)),
        size(static_cast<std::uint32_t>(data.size())) {}
};

inline std::string zip_number(std::size_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

// What stands both before a member and in the list.
inline std::string zip_fields(const zip_member& m) {
  return zip_number(20, 2) + zip_number(m.flags, 2) + zip_number(m.method, 2) + zip_number(0, 2) +
         zip_number(33, 2) + zip_number(m.crc, 4) + zip_number(m.data.size(), 4) +
         zip_number(m.size, 4) + zip_number(m.name.size(), 2) + zip_number(0, 2);
}

inline std::string zip_record(const zip_member& m) {
  return "PK\3\4" + zip_fields(m) + m.name + m.data;
}

inline std::string zip_bytes(const std::vector<zip_member>& members) {
  std::string out, list;
  for (const zip_member& m : members) {
    const std::size_t place = m.place.value_or(out.size());
    if (!m.place) out += zip_record(m);
    list += "PK\1\2" + zip_number(20, 2) + zip_fields(m) + std::string(10, '\0') +
            zip_number(place, 4) + m.name;
  }
  return out + list + "PK\5\6" + zip_number(0, 4) + zip_number(members.size(), 2) +
         zip_number(members.size(), 2) + zip_number(list.size(), 4) + zip_number(out.size(), 4) +
         zip_number(0, 2);
}

}  // namespace test_support
