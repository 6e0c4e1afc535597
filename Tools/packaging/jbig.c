/* Stands for libjbig in the wheel, since libtiff cannot be loaded without it: JBIG, a compression of facsimiles, is refused
   as damaged data would be. The library itself is under the GPL, which would then apply to the whole wheel. */
void jbg_dec_init(void *state) { (void)state; }
void jbg_dec_free(void *state) { (void)state; }
int jbg_dec_in(void *state, const unsigned char *data, unsigned long length, unsigned long *read) {
    (void)state, (void)data, (void)length;
    if (read) *read = 0;
    return 1;
}
unsigned char *jbg_dec_getimage(const void *state, int plane) { return (void)state, (void)plane, (unsigned char *)0; }
unsigned long jbg_dec_getsize(const void *state) { return (void)state, 0; }
void jbg_enc_init(void *state, unsigned long width, unsigned long height, int planes, unsigned char **data,
                  void (*write)(unsigned char *, unsigned long, void *), void *target) {
    (void)state, (void)width, (void)height, (void)planes, (void)data, (void)write, (void)target;
}
void jbg_enc_out(void *state) { (void)state; }
void jbg_enc_free(void *state) { (void)state; }
int jbg_newlen(unsigned char *data, unsigned long length) { return (void)data, (void)length, 1; }
const char *jbg_strerror(int code) { return (void)code, "JBIG is not supported"; }
