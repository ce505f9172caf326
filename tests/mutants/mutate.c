/* mutate.c - writes a copy of a C file with one small change, as `make mutants` wants it.

       mutate FILE SEED NUMBER TRY LINES...  >changed  2>description

   Each LINES file lists the lines of FILE that one way of compiling it (a view) sees, one number a line. A place on a line
   that several views see belongs to the first. The description is one line: view, line, what was changed.

   Changed is code inside functions:
       a + b <-> a - b, a * b <-> a / b, a % b -> a / b, << <-> >>, a & b <-> a | b, += <-> -=, *= <-> /=, |= <-> &=
       a && b <-> a || b, !a -> a
       a == b <-> a != b, a < b <-> a >= b, a > b <-> a <= b
       a < b <-> a <= b, a > b <-> a >= b in the head of a loop, and where b is a whole number
       n -> n + 1, n -> n - 1 for whole numbers up to 16
       a statement, or what an if guards, dropped: calls, assignments, break, continue, return

   Left out, since such a change is seldom a mistake that a test could see:
   - Numbers outside functions and whole numbers above 16: block sizes, limits of paths, capacities of scratch. They decide
     how fast a result comes, not which. For the same reason the functions of `choices` below, which choose the faster of two
     ways to one result, and the work that shs__ctx_parallel is told.
   - Numbers with a fraction or an exponent but 0.5, 1.0 and 2.0, and the arithmetic beside one with an exponent or beside
     the spacing of reals: thresholds, which no test should pin down to the last digit. Loops that end after more than 16
     rounds whatever happens: the limit is for what does not converge.
   - The boundary of a comparison of reals (x < y, x <= y): equality has no probability. That of a + b < c in the head of a
     loop: whole vectors, after which a loop for what is left does the same.
   - 2 for 1 where it is assigned or returned alone: a truth value.
   - The length of an array where it is declared, one more in what a buffer is cut to: more room does nothing.
   - What x <= 0 does in place of x < 0: the same zero, with another sign.
   - ++ and --: every test fails, so that they would only embellish the count.
   - Macros: a line of one is many places at once. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VIEWS = 8, MOST_DEPTH = 256 };

static char *text;
static size_t length;
static unsigned char *seen[MOST_VIEWS]; /* by line: whether the view sees it */
static int lines, views;

typedef struct token {
    size_t at, size;
    int line;
} token;

/* A kind is drawn first, then a place of that kind. */
enum { NUMBER, OPERATOR, COMPARISON, STATEMENT, KINDS };

/* A change: so many characters from `at` on become `with`; NULL: spaces and a semicolon. */
typedef struct site {
    size_t at, size;
    int line, view, kind;
    const char *with;
    char number[24]; /* what `with` points to for numbers */
} site;

static token *tokens;
static size_t count;
static site *sites;
static size_t site_count, site_room;

static void *take(size_t bytes) {
    void *block = calloc(1, bytes);
    if (!block) exit(2);
    return block;
}

static void read_text(const char *name) {
    FILE *f = fopen(name, "rb");
    size_t i;
    if (!f || fseek(f, 0, SEEK_END)) exit(2);
    length = (size_t)ftell(f);
    rewind(f);
    text = (char *)take(length + 1);
    if (fread(text, 1, length, f) != length) exit(2);
    fclose(f);
    lines = 1;
    for (i = 0; i < length; i++) lines += text[i] == '\n';
}

static void read_view(const char *name) {
    FILE *f = fopen(name, "r");
    int line;
    if (!f || views == MOST_VIEWS) exit(2);
    seen[views] = (unsigned char *)take((size_t)lines + 2);
    while (fscanf(f, "%d", &line) == 1)
        if (line > 0 && line <= lines) seen[views][line] = 1;
    fclose(f);
    views++;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static int is_name(int c) { return isalnum(c) || c == '_'; }

static size_t token_size(const char *at) {
    static const char *const punctuation[] = {"<<=", ">>=", "...", "++", "--", "->", "<<", ">>", "<=", ">=", "==",
                                              "!=",  "&&",  "||",  "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
    size_t n = 0, i;
    if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]))) {
        while (is_name((unsigned char)at[n]) || at[n] == '.' || ((at[n] == '+' || at[n] == '-') && strchr("eEpP", at[n - 1])))
            n++;
        return n;
    }
    if (is_name((unsigned char)*at)) {
        while (is_name((unsigned char)at[n])) n++;
        return n;
    }
    if (*at == '"' || *at == '\'') {
        for (n = 1; at[n] && at[n] != *at; n++) n += at[n] == '\\';
        return n + 1;
    }
    for (i = 0; i < sizeof punctuation / sizeof *punctuation; i++)
        if (!strncmp(at, punctuation[i], strlen(punctuation[i]))) return strlen(punctuation[i]);
    return 1;
}

/* The tokens of the lines that the view sees, without comments and directives. */
static void split(int view) {
    size_t i = 0;
    int line = 1, first = 1;
    count = 0;
    while (i < length) {
        char c = text[i];
        size_t n;
        if (c == '\n') {
            line++;
            first = 1;
            i++;
        } else if (isspace((unsigned char)c)) i++;
        else if (c == '/' && text[i + 1] == '*') {
            for (i += 2; i < length && (text[i] != '*' || text[i + 1] != '/'); i++) line += text[i] == '\n';
            i += 2;
        } else if (c == '/' && text[i + 1] == '/') {
            while (i < length && text[i] != '\n') i++;
        } else if (c == '#' && first) {
            for (; i < length && (text[i] != '\n' || text[i - 1] == '\\'); i++) line += text[i] == '\n';
        } else {
            n = token_size(text + i);
            if (seen[view][line]) {
                tokens[count].at = i;
                tokens[count].size = n;
                tokens[count].line = line;
                count++;
            }
            i += n;
            first = 0;
        }
    }
}

static int is(size_t t, const char *word) {
    return t < count && strlen(word) == tokens[t].size && !memcmp(text + tokens[t].at, word, tokens[t].size);
}

static int is_any(size_t t, const char *const *words) {
    for (; *words; words++)
        if (is(t, *words)) return 1;
    return 0;
}

static int first_char(size_t t) { return t < count ? (unsigned char)text[tokens[t].at] : 0; }
static int is_word(size_t t) { return isalpha(first_char(t)) || first_char(t) == '_'; }
static int is_number(size_t t) { return isdigit(first_char(t)) || (first_char(t) == '.' && tokens[t].size > 1); }

static int is_type(size_t t) {
    static const char *const words[] = {"const",    "static",  "unsigned",  "signed",  "int",      "long",
                                        "char",     "float",   "double",    "void",    "size_t",   "struct",
                                        "enum",     "short",   "ptrdiff_t", "int8_t",  "uint8_t",  "int16_t",
                                        "uint16_t", "int32_t", "uint32_t",  "int64_t", "uint64_t", NULL};
    return is_any(t, words);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void add(int kind, size_t from, size_t to, int view, const char *with, long number) {
    site *s;
    int v;
    for (v = 0; v < view; v++)
        if (seen[v][tokens[from].line]) return;
    if (site_count == site_room) {
        site_room = site_room ? 2 * site_room : 1024;
        sites = (site *)realloc(sites, site_room * sizeof *sites);
        if (!sites) exit(2);
    }
    s = sites + site_count++;
    s->at = tokens[from].at;
    s->size = tokens[to].at + tokens[to].size - tokens[from].at;
    s->line = tokens[from].line;
    s->view = view;
    s->kind = kind;
    s->with = with;
    if (number >= 0) {
        snprintf(s->number, sizeof s->number, "%ld", number);
        s->with = "";
    }
}

/* Functions that choose the faster way, and what is read ahead of its use. */
static int chooses(size_t name) {
    static const char *const choices[] = {"shs__eigh_few_faster",
                                          "shs__coder_default_chunk",
                                          "shs__omp_gram_pays",
                                          "shs__ctx_product_work",
                                          "shs__dl_group_work",
                                          "shs__px_tile_groups",
                                          "shs__px_kept_panels",
                                          "shs__px_next_panel",
                                          "shs__la_gemm_panel",
                                          "shs__px_fetch_ahead",
                                          "shs__la_gemm_ahead",
                                          NULL};
    return is_any(name, choices);
}

static int line_has(size_t t, const char *word) {
    size_t i = t;
    while (i > 0 && tokens[i - 1].line == tokens[t].line) i--;
    for (; i < count && tokens[i].line == tokens[t].line; i++)
        if (is(i, word)) return 1;
    return 0;
}

/* Whether the line of the token says how much work something is, or holds a threshold. */
static int is_rough(size_t t) {
    size_t i = t, k;
    while (i > 0 && tokens[i - 1].line == tokens[t].line) i--;
    for (; i < count && tokens[i].line == tokens[t].line; i++)
        for (k = 1; is_number(i) && !(tokens[i].size > 1 && text[tokens[i].at + 1] == 'x') && k < tokens[i].size; k++)
            if (text[tokens[i].at + k] == 'e') return 1;
    return line_has(t, "SHS_NO_CONVERGENCE") || line_has(t, "shs__ctx_parallel") || line_has(t, "SHS__EPS") ||
           line_has(t, "SHS__WIDE_EPS") || line_has(t, "SHS__WIDE_EPS");
}

/* Whether the head that opens at t ends its loop after more than 16 rounds whatever happens. */
static int is_last_resort(size_t t) {
    int depth = 0;
    for (; t < count; t++) {
        depth += is(t, "(") - is(t, ")");
        if (depth == 0) return 0;
        if ((is(t, "<") || is(t, "<=")) && is_number(t + 1) && strtol(text + tokens[t + 1].at, NULL, 10) > 16) return 1;
    }
    return 0;
}

/* Whether what ends at t is a value, so that an operator after it has two sides. A cast is none. */
static int ends_value(size_t t, size_t open) {
    static const char *const words[] = {"return", "case", "else", "do", "sizeof", NULL};
    if (is(t, ")"))
        return !(is_type(open + 1) || (t >= 2 && is(t - 1, "*")) ||
                 (t == open + 2 && is_word(open + 1) && !strncmp(text + tokens[open + 1].at, "shs_", 4)));
    return is(t, "]") || is_number(t) || (is_word(t) && !is_any(t, words) && !is_type(t));
}

/* Whole numbers up to 16, as one may write n + 1 for n. */
static void change_number(size_t t, int view) {
    char *end;
    long n = strtol(text + tokens[t].at, &end, 10);
    if (is(t, "0.5") || is(t, "0.5f")) add(NUMBER, t, t, view, "1.0", -1);
    else if (is(t, "1.0") || is(t, "1.0f")) add(NUMBER, t, t, view, "2.0", -1);
    else if (is(t, "2.0") || is(t, "2.0f")) add(NUMBER, t, t, view, "1.0", -1);
    if (end != text + tokens[t].at + tokens[t].size || n > 16 || (tokens[t].size > 1 && first_char(t) == '0')) return;
    if (!(n == 1 && (is(t - 1, "=") || is(t - 1, "return") || is(t - 1, "?") || is(t - 1, ":")) &&
          (is(t + 1, ";") || is(t + 1, ",") || is(t + 1, ":"))) &&
        !line_has(t, "SHS__CARVE"))
        add(NUMBER, t, t, view, NULL, n + 1);
    if (n > 0) add(NUMBER, t, t, view, NULL, n - 1);
}

typedef struct pair {
    const char *from, *to;
} pair;

static void change_operator(size_t t, size_t open, int in_loop_head, int view) {
    static const pair swaps[] = {{"+", "-"},   {"-", "+"},   {"*", "/"},   {"/", "*"},   {"%", "/"},   {"<<", ">>"},
                                 {">>", "<<"}, {"&", "|"},   {"|", "&"},   {"+=", "-="}, {"-=", "+="}, {"*=", "/="},
                                 {"/=", "*="}, {"|=", "&="}, {"&=", "|="}, {"&&", "||"}, {"||", "&&"}, {"==", "!="},
                                 {"!=", "=="}, {"<", ">="},  {">=", "<"},  {">", "<="},  {"<=", ">"}};
    enum { LOGIC = 15 }; /* from here on: kind COMPARISON */
    static const pair boundaries[] = {{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}};
    size_t i;
    if (is(t, "!")) {
        add(COMPARISON, t, t, view, " ", -1);
        return;
    }
    if (t == 0 || !ends_value(t - 1, open)) return;
    for (i = 0; i < sizeof swaps / sizeof *swaps; i++)
        if (is(t, swaps[i].from)) add(i < LOGIC ? OPERATOR : COMPARISON, t, t, view, swaps[i].to, -1);
    if ((in_loop_head && !(t > 1 && is_word(t - 1) && is(t - 2, "+"))) || (is_number(t + 1) && !is(t + 1, "0")))
        for (i = 0; i < sizeof boundaries / sizeof *boundaries; i++)
            if (is(t, boundaries[i].from)) add(COMPARISON, t, t, view, boundaries[i].to, -1);
}

/* The end of the statement from t on where it can be dropped: its semicolon; else 0. */
static size_t droppable(size_t t, int guarded) {
    static const char *const kept[] = {"if", "for", "while", "do", "switch", "case", "default", "else", "goto", NULL};
    size_t end = t;
    int depth = 0, does = 0;
    if (is(t, "break") || is(t, "continue")) return is(t + 1, ";") ? t + 1 : 0;
    if (is(t, "return") ? !guarded : !is_word(t) && !is(t, "*")) return 0;
    if (is_any(t, kept) || is_type(t) || is(t + 1, ":")) return 0;
    if (!is(t, "return") && (is_word(t + 1) || (is(t + 1, "*") && !is(t, "*")))) return 0; /* a declaration */
    for (; end < count && (depth > 0 || !is(end, ";")); end++) {
        if (is(end, "{") || is(end, "}")) return 0;
        depth += is(end, "(") - is(end, ")");
        does |= is(end, "(") || is(end, "=") || is(end, "++") || is(end, "--") ||
                (tokens[end].size == 2 && text[tokens[end].at + 1] == '=');
    }
    return does || is(t, "return") ? end : 0;
}

static void find_sites(int view) {
    static size_t parens[MOST_DEPTH], last_open, name;
    static char loops[MOST_DEPTH], last_resorts[MOST_DEPTH];
    int depth = 0, paren = 0, in_function = 0, declaration = 0, guarded = 0, starts = 0, label = 0;
    size_t t;
    split(view);
    for (t = 0; t < count; t++) {
        static const char *const loop_words[] = {"for", "while", NULL}, *const heads[] = {"if", "for", "while", NULL};
        if (is(t, "{")) {
            if (depth == 0) in_function = t > 0 && is(t - 1, ")") && !chooses(name);
            depth++;
            starts = 1;
            guarded = 0;
            declaration = 0;
            if (depth == 1) continue;
        } else if (is(t, "}")) {
            depth--;
            starts = 1;
            guarded = 0;
            declaration = 0;
            continue;
        }
        if (depth == 0 && is(t, "(") && is_word(t - 1)) name = t - 1; /* the last one before the body */
        if (depth == 0 || !in_function) continue;
        if (is(t, "{")) continue;
        if (starts && paren == 0) {
            size_t end = droppable(t, guarded);
            declaration =
                is_type(t) || (is_word(t) && (is_word(t + 1) || (is(t + 1, "*") && is_word(t + 2))) && !is(t, "return") &&
                               !is(t, "else") && !is(t, "case") && !is(t, "do") && !is(t, "goto"));
            if (end) add(STATEMENT, t, end, view, NULL, -1);
        }
        if (is(t, "=")) declaration = 0; /* what follows is a value */
        starts = 0;
        if (is(t, "(")) {
            if (paren + 1 < MOST_DEPTH) paren++;
            parens[paren] = t;
            loops[paren] = (char)(t > 0 && (is_any(t - 1, loop_words) || loops[paren - 1]));
            last_resorts[paren] =
                (char)(t > 0 && ((is_any(t - 1, loop_words) && is_last_resort(t)) || last_resorts[paren - 1]));
        } else if (is(t, ")")) {
            last_open = parens[paren];
            if (paren > 0) paren--;
            if (paren == 0 && last_open > 0 && is_any(last_open - 1, heads)) {
                starts = 1;
                guarded = 1;
            }
        } else if (is(t, ";") && paren == 0) {
            starts = 1;
            guarded = 0;
            declaration = 0;
        } else if (is(t, "case") || is(t, "default")) label = 1;
        else if (is(t, "else") || is(t, "do") || (is(t, ":") && label)) {
            starts = 1;
            guarded = is(t, "else");
            label = 0;
        } else if (is_number(t)) {
            if (!declaration && !last_resorts[paren] && !is_rough(t)) change_number(t, view);
        } else if (!is_word(t) && !declaration && !last_resorts[paren] && !is_rough(t))
            change_operator(t, last_open, paren > 0 && loops[paren], view);
    }
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int main(int argc, char **argv) {
    const site *s;
    const char *with;
    uint64_t key, of_kind[KINDS] = {0};
    size_t i;
    int a, kind;
    if (argc < 6) return 2;
    read_text(argv[1]);
    for (a = 5; a < argc; a++) read_view(argv[a]);
    tokens = (token *)take((length + 1) * sizeof *tokens);
    for (a = 0; a < views; a++) find_sites(a);
    if (!site_count) return 2;
    key = mixed(mixed(mixed((uint64_t)strtoul(argv[2], NULL, 10)) + (uint64_t)strtoul(argv[3], NULL, 10)) +
                (uint64_t)strtoul(argv[4], NULL, 10));
    for (i = 0; i < site_count; i++) of_kind[sites[i].kind]++;
    kind = (int)(key % KINDS);
    if (!of_kind[kind]) return 2;
    key = key / KINDS % of_kind[kind];
    for (s = sites; s->kind != kind || key > 0; s++) key -= s->kind == kind;
    with = s->with && *s->with ? s->with : s->number;
    fwrite(text, 1, s->at, stdout);
    if (s->with) fputs(with, stdout);
    else
        for (i = 0; i < s->size; i++) {
            if (i + 1 == s->size) putchar(';');
            else putchar(text[s->at + i] == '\n' ? '\n' : ' ');
        }
    fwrite(text + s->at + s->size, 1, length - s->at - s->size, stdout);
    fprintf(stderr, "%d %d \"%.*s\" -> \"%s\"\n", s->view, s->line, (int)s->size, text + s->at, s->with ? with : "");
    return 0;
}
