#include "CReviewPage.h"

/* #embed is of C23; the compiler has it for every version. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../NocturneReview/Page/index.html"
};
static const unsigned char page_css[] = {
#embed "../NocturneReview/Page/page.css"
};
static const unsigned char cards_js[] = {
#embed "../NocturneReview/Page/cards.js"
};
static const unsigned char controls_js[] = {
#embed "../NocturneReview/Page/controls.js"
};
static const unsigned char dom_js[] = {
#embed "../NocturneReview/Page/dom.js"
};
static const unsigned char filter_js[] = {
#embed "../NocturneReview/Page/filter.js"
};
static const unsigned char format_js[] = {
#embed "../NocturneReview/Page/format.js"
};
static const unsigned char item_js[] = {
#embed "../NocturneReview/Page/item.js"
};
static const unsigned char keys_js[] = {
#embed "../NocturneReview/Page/keys.js"
};
static const unsigned char main_js[] = {
#embed "../NocturneReview/Page/main.js"
};
static const unsigned char marks_js[] = {
#embed "../NocturneReview/Page/marks.js"
};
static const unsigned char measures_js[] = {
#embed "../NocturneReview/Page/measures.js"
};
static const unsigned char model_js[] = {
#embed "../NocturneReview/Page/model.js"
};
static const unsigned char objects_js[] = {
#embed "../NocturneReview/Page/objects.js"
};
static const unsigned char plots_js[] = {
#embed "../NocturneReview/Page/plots.js"
};
static const unsigned char summary_js[] = {
#embed "../NocturneReview/Page/summary.js"
};
static const unsigned char table_js[] = {
#embed "../NocturneReview/Page/table.js"
};
static const unsigned char unusual_js[] = {
#embed "../NocturneReview/Page/unusual.js"
};
static const unsigned char verdicts_js[] = {
#embed "../NocturneReview/Page/verdicts.js"
};
static const unsigned char viewer_controls_js[] = {
#embed "../NocturneReview/Page/viewer-controls.js"
};
static const unsigned char viewer_js[] = {
#embed "../NocturneReview/Page/viewer.js"
};
static const unsigned char volume_js[] = {
#embed "../NocturneReview/Page/volume.js"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof bytes}

static const creviewpage_file files[] = {
    FILE_OF("index.html", index_html),
    FILE_OF("page.css", page_css),
    FILE_OF("cards.js", cards_js),
    FILE_OF("controls.js", controls_js),
    FILE_OF("dom.js", dom_js),
    FILE_OF("filter.js", filter_js),
    FILE_OF("format.js", format_js),
    FILE_OF("item.js", item_js),
    FILE_OF("keys.js", keys_js),
    FILE_OF("main.js", main_js),
    FILE_OF("marks.js", marks_js),
    FILE_OF("measures.js", measures_js),
    FILE_OF("model.js", model_js),
    FILE_OF("objects.js", objects_js),
    FILE_OF("plots.js", plots_js),
    FILE_OF("summary.js", summary_js),
    FILE_OF("table.js", table_js),
    FILE_OF("unusual.js", unusual_js),
    FILE_OF("verdicts.js", verdicts_js),
    FILE_OF("viewer-controls.js", viewer_controls_js),
    FILE_OF("viewer.js", viewer_js),
    FILE_OF("volume.js", volume_js),
};

const creviewpage_file *creviewpage_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
