/* cells.h - reads the text of a table: decodes it, and parts it into lines, cells and numbers. */
#ifndef HYPERCUBE_CELLS
#define HYPERCUBE_CELLS

#include "wavelengths.h"

/* ---- cells of a line ---------------------------------------------------------------------------------------------- */

enum { TABLE_BYTES = 1 << 28 };

/* What divides the cells of a line, by a line of numbers: semicolons and tabs leave commas to the decimals. */
static char separator_of(const char *line) {
    size_t length = strcspn(line, "\r\n");
    if (memchr(line, ';', length)) return ';';
    if (memchr(line, '\t', length)) return '\t';
    if (memchr(line, ',', length)) return ',';
    line += strspn(line, " ");
    length = strcspn(line, " \r\n");
    if (line[length + strspn(line + length, " ")] > ' ') return ' ';
    return ',';
}

/* The end of a quoted text from behind its first quote on: its last quote, or the end of the line. Two quotes are one of the text. */
static const char *quoted_end(const char *from) {
    while (*from && *from != '\n') {
        if (*from == '"' && from[1] != '"') break;
        if (*from == '"') from++;
        from++;
    }
    return from;
}

/* Returns the text of a cell without quotes. The caller frees the text. *at moves to what ends the cell. */
static char *table_cell(const char **at, char separator) {
    const char *from = *at + strspn(*at, " "), *to;
    char ends[] = {separator, '\r', '\n', 0}, *cell, *out;
    if (*from != '"') {
        *at += strcspn(*at, ends);
        if (separator == ' ') *at = from + strcspn(from, ends);
        if (*at < from) to = from;
        else to = *at;
        return tidy_text(from, to, 0);
    }
    to = quoted_end(from + 1);
    cell = copy_text(from + 1, to);
    out = cell;
    for (from = cell; *from; from++) {
        if (*from == '"') from++;
        *out++ = *from;
    }
    *out = 0;
    *at = to + strcspn(to, ends);
    return cell;
}

/* The cells of a line, and how many there are; *at moves to the next line. Blanks at the end of a line are no cell. */
static char **table_cells(const char **at, char separator, int *count) {
    int room = 16;
    char **cells = ALLOCATE(char *, room);
    for (*count = 0;;) {
        if (*count == room) {
            room *= 2;
            cells = (char **)realloc(cells, (size_t)room * sizeof *cells);
            if (!cells) fail(EXIT_ERROR, "out of memory: a line of %d cells", room);
        }
        cells[(*count)++] = table_cell(at, separator);
        if (separator == ' ') *at += strspn(*at, " ");
        if (**at != separator && (separator != ' ' || **at < ' ')) break;
        if (separator != ' ') ++*at;
    }
    *at += strcspn(*at, "\n");
    if (**at) ++*at;
    return cells;
}

/* Whether a number stands for a missing one: -1.23e34 of deleted channels in spectral libraries, -9999 or the least i16. */
static int is_gap_number(double number) {
    return !isfinite(number) || number < -1e30 || !(fabs(number + 9999) > 0) || !(fabs(number + 32768) > 0);
}

/* Whether nothing, or a word, says that a number is missing. */
static int is_gap(const char *cell) {
    static const char *const words[] = {"",     "-",    "nan", "na",      "n/a",     "null", "none",
                                        "#n/a", "#nv", "k.a.", "n.a.", "missing", "nothing"};
    char *lower = plain_letters(cell);
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcmp(lower, words[i])) i++;
    free(lower);
    return i < count;
}

/* Returns 0 where a cell is no number. A comma that divides no cells is a decimal point. */
static int plain_number(const char *cell, char separator, double *number) {
    char *copy = joined(cell, ""), *comma = strchr(copy, ',');
    size_t length;
    if (comma && separator != ',' && !strchr(copy, '.')) *comma = '.';
    length = any_number(copy, number);
    if (length && copy[length]) length = 0;
    free(copy);
    return length > 0;
}

/* The same, NaN where the number is missing. */
static int cell_number(const char *cell, char separator, double *number) {
    int found = 1;
    *number = NO_NUMBER;
    if (!is_gap(cell)) found = plain_number(cell, separator, number);
    if (is_gap_number(*number)) *number = NO_NUMBER;
    return found;
}

/* Returns non-zero if a cell reads like 1,040 or 1.040: 1 to 3 digits, the first of them not 0, the mark, 3 digits. */
static int is_thousands(const char *cell, char mark) {
    size_t before, behind;
    cell += *cell == '-' || *cell == '+';
    before = strspn(cell, "0123456789");
    if (before < 1 || before > 3 || *cell == '0' || cell[before] != mark) return 0;
    behind = strspn(cell + before + 1, "0123456789");
    return behind == 3 && !cell[before + 1 + behind];
}

static int is_one_of(const char *text, const char *const *words, size_t count) {
    size_t i;
    for (i = 0; i < count; i++)
        if (!strcmp(text, words[i])) return 1;
    return 0;
}

#define WITH_COUNT(words) words, sizeof words / sizeof *words

/* ---- lines -------------------------------------------------------------------------------------------------------- */

/* Whether a spreadsheet's word for a missing number, or for a formula that failed, is the first cell of a line. */
static int begins_with_error(const char *line) {
    static const char *const words[] = {"#n/a",  "#nv",  "#wert!",  "#value!", "#name?", "#div/0!",
                                        "#ref!", "#bezug!", "#num!", "#zahl!", "#null!"};
    char *cell = copy_text(line, line + strcspn(line, " ,;\t\r\n")), *lower = plain_letters(cell);
    const int found = is_one_of(lower, WITH_COUNT(words));
    free(cell);
    free(lower);
    return found;
}

/* Comments begin with #; one of as many cells as there are columns may be the heading, as numpy.savetxt writes it. */
static int is_comment(const char *line) {
    line += strspn(line, " ");
    return *line == '#' && !begins_with_error(line);
}

static int is_empty_line(const char *line) {
    line += strspn(line, " \t");
    return !*line || *line == '\r' || *line == '\n';
}

/* Whether a line holds separators alone. */
static int is_bare_row(const char *line) {
    const size_t length = strcspn(line, "\r\n");
    return strspn(line, " \t,;\"") >= length && strcspn(line, "\t,;\"") < length;
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    if (*line) return line + 1;
    return line;
}

static void free_cells(char **cells, int count) {
    while (count > 0) free(cells[--count]);
    free(cells);
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

/* Bytes of the character of UTF-8 that begins here; 0: none does. */
static int utf8_length(const char *text) {
    const unsigned char first = (unsigned char)*text;
    int length = 1, k;
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    if (first >= 0xe0) length++;
    if (first >= 0xf0) length++;
    for (k = 1; k <= length; k++)
        if (((unsigned char)text[k] & 0xc0) != 0x80) return 0;
    return length + 1;
}

/* The character that a byte stands for in CP1252, which is Latin-1 and more. */
static int character_of_byte(char byte) {
    static const unsigned short others[] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160,
                                            0x2039, 0x152,  0x8d,   0x17d,  0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
                                            0x2013, 0x2014, 0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
    const unsigned char number = (unsigned char)byte;
    if (number < 0x80 || number >= 0xa0) return number;
    return others[number - 0x80];
}

/* The text in UTF-8: bytes that are none become the characters of CP1252. Frees what it was given. */
static char *as_utf8(char *text) {
    char *made = ALLOCATE(char, 3 * strlen(text) + 1), *to = made;
    const char *at = text;
    while (*at) {
        int length = utf8_length(at), character;
        if (length) {
            for (; length; length--) *to++ = *at++;
            continue;
        }
        character = character_of_byte(*at++);
        if (character < 0x800) *to++ = (char)(0xc0 | character >> 6);
        else {
            *to++ = (char)(0xe0 | character >> 12);
            *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        }
        *to++ = (char)(0x80 | (character & 0x3f));
    }
    *to = 0;
    free(text);
    return made;
}

/* Ends the text behind its last line that has a cell: spreadsheets append rows of separators alone. Returns how many. */
static int end_behind_cells(char *text) {
    size_t length = strlen(text);
    const char *at;
    int rows = 0;
    while (length && strchr(" \t\r\n,;\"", text[length - 1])) length--;
    length += strcspn(text + length, "\r\n");
    for (at = next_line(text + length); *at; at = next_line(at)) rows += is_bare_row(at);
    text[length] = 0;
    return rows;
}

/* The header beside a file: of x.img x.img.hdr or x.hdr; NULL: there is none. The caller frees it. */
static char *header_beside(const char *name) {
    uint64_t size;
    char *first = joined(name, ".hdr"), *second;
    if (is_regular(first, &size)) return first;
    free(first);
    second = derived_name(name, "", ".hdr");
    if (is_regular(second, &size)) return second;
    free(second);
    return NULL;
}

/* It may be the data file of a library or a cube, whose header is what is to be named. */
static void fail_for_bytes(const char *name) {
    char *header_name = header_beside(name);
    if (header_name)
        fail(EXIT_ERROR, "%s: not a table: it holds a byte of zero, and text has none; name its header in its place: %s", name,
             header_name);
    fail(EXIT_ERROR, "%s: not a table: it holds a byte of zero, and text has none", name);
}

/* Whether a header is that of a library of ENVI. */
static int describes_library(const char *header_name) {
    header h = header_read(header_name);
    const int library = is_library(&h);
    header_free(&h);
    return library;
}

/* Whether a name is that of a library or a cube, by its header or by its data, and not that of a table. Data of a library
   without an ending, or with .lib, have a header beside them. */
static int names_envi(const char *name) {
    char *header_name;
    int library;
    if (has_extension(name, ".hdr") || has_extension(name, ".sli")) return 1;
    if (*name_extension(name) && !has_extension(name, ".lib")) return 0;
    header_name = header_beside(name);
    library = header_name && describes_library(header_name);
    free(header_name);
    return library;
}

/* The bytes of a file as text in UTF-8. */
static char *text_of_bytes(const char *name, const unsigned char *bytes, size_t size) {
    char *text;
    if (is_utf16((const char *)bytes, size) && size > 3)
        fail(EXIT_ERROR, "%s: it is UTF-16 text, or no table: save it as UTF-8", name);
    if (memchr(bytes, 0, size)) fail_for_bytes(name);
    text = copy_text((const char *)bytes, (const char *)bytes + size);
    if (!strchr(text, '\n')) /* old programs end lines by a carriage return alone */
        for (size = 0; text[size]; size++)
            if (text[size] == '\r') text[size] = '\n';
    return as_utf8(text);
}

/* The text of the file in UTF-8. */
static char *table_text(const char *name) {
    size_t size;
    unsigned char *bytes = read_file(name, TABLE_BYTES, &size);
    char *text = text_of_bytes(name, bytes, size);
    free(bytes);
    return text;
}

#endif /* HYPERCUBE_CELLS */
