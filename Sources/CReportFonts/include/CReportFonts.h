#ifndef CREPORTFONTS_H
#define CREPORTFONTS_H

#include <stddef.h>

/*
 * The two fonts of reports as TrueType files in memory: Latin letters and a few signs of DejaVu Sans, under another name
 * (Tools/assets/make_report_fonts.py; LICENSE.txt in the folder above).
 */
const unsigned char *creportfonts_regular(size_t *count);
const unsigned char *creportfonts_bold(size_t *count);

#endif
