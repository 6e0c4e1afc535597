#include "CReportFonts.h"

/* #embed is of C23; the compiler has it for every version. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char regular[] = {
#embed "NocturneSans-Regular.ttf"
};
static const unsigned char bold[] = {
#embed "NocturneSans-Bold.ttf"
};

const unsigned char *creportfonts_regular(size_t *count) {
    *count = sizeof regular;
    return regular;
}

const unsigned char *creportfonts_bold(size_t *count) {
    *count = sizeof bold;
    return bold;
}
