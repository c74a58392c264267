/* Checks of the C face written in C; called by test_c_library.cpp. */
#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or the text of the first check that failed. model: a file of an any-view model. */
const char *check_c_library(const char *model);

/* The same of rays, known cameras and Gaussians. model: a file with all of them. */
const char *check_complete_model(const char *model);

#ifdef __cplusplus
}
#endif
