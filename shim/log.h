/* Words to the user, on stderr and never anywhere else. */
#ifndef LOG_H
#define LOG_H

/* One line "boundshim: ..." on stderr, in one write; at most a few lines in a process. Keeps errno, allocates nothing. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* 0 = silent, 1 = what a user must know (default), 2 = more. From BOUNDSHIM_LOG. The count of lines begins anew. */
void log_set_level(int level);

/* As log_line, at level 2 only. */
__attribute__((format(printf, 1, 2))) void log_detail(const char *format, ...);

#endif
