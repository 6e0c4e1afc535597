// Values of elements for the fields of headers and frames, used by all that fill them.

#include "header.hpp"

void cdicom::put_text(const Node &node, uint32_t tag, char *field, size_t capacity) {
    copy_text(field, capacity, node.text(tag));
}
