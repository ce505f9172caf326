/* tables.h - reads spectra from a table or a library of ENVI: finds the columns of spectra, the rows of bands, the unit of
   wavelengths. */
#ifndef HYPERCUBE_TABLES
#define HYPERCUBE_TABLES

#include "html.h"

typedef struct spectra {
    int count;
    char **names;
    int *number;      /* of each among those of its table, from 1; NULL: all of them are here */
    shs_wide *values; /* bands in use x count */
} spectra;

/* The forms of a column's numbers: the place of the first number like 1.040, or like 1,040, and whether there are numbers of
   other forms. */
typedef struct column_form {
    int line, row;       /* line 0: there is none */
    int hundreds, other; /* whether some are whole numbers of three digits, and some have another form than both */
} column_form;

/* What may divide thousands, or whole numbers from decimals. */
enum mark { MARK_POINT, MARK_COMMA, MARKS };
static const char mark_letters[] = {'.', ','};

/* The heading of a column in plain letters. */
typedef struct plain_heading {
    char *text;
    int column;
} plain_heading;

/* Lines of numbers. The first line may hold names. A number that is missing is NaN. */
typedef struct table {
    const char *name;
    int rows, columns, headed; /* headed: the first line holds names */
    int dropped;               /* lines without a cell: no rows here, though they may be of bands without values */
    int open_ended;            /* the last cell of the first row of numbers is empty: lines end with a separator */
    int wavelengths;           /* the column, or -1 */
    int band_numbers;          /* the column that numbers the bands, or rows that stand in another order; -1: none */
    int thousands;             /* how many cells have a comma like 1,040 */
    int decimals[MARKS];       /* how many have a mark like 1,5 or 0,040 */
    column_form *forms[MARKS]; /* of each column, while rows are read */
    const wave_unit *unit;     /* of its wavelengths; NULL: not stated */
    double factor;             /* reflectance times this is what it holds; 0: not stated */
    char **names;              /* NULL or empty where a column has none */
    plain_heading *ordered;    /* all of them by words, for is_deviation; NULL: not of a library */
    char **labels;             /* the first cell of each row, where the other headings are numbers; NULL: they are not */
    int word_line;             /* the line of the first label that is a word; 0: none is */
    unsigned char *left_out;   /* columns that are no spectra */
    double *values;            /* row by row */
} table;

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* A heading begins with a name, or with nothing where numbers follow. */
static int is_heading(char *const *cells, int count, char separator) {
    double number;
    if (!count) return 0;
    if (!*cells[0]) return 1;
    return !cell_number(cells[0], separator, &number);
}

/* Takes the names; R leaves out that of the rows. numbers: the first line of numbers, for a message. */
static void table_heading(table *t, char **cells, int count, int numbers) {
    int shift = t->columns - count, c;
    if (shift == 1 && t->open_ended) {
        cells = (char **)realloc(cells, (size_t)t->columns * sizeof *cells);
        if (!cells) fail(EXIT_ERROR, "out of memory: a line of %d cells", t->columns);
        cells[count++] = joined("", "");
        shift = 0;
    }
    if (shift != 0 && shift != 1)
        fail(EXIT_ERROR, "%s: line %d: %d columns, but the first line has %d", t->name, numbers, t->columns, count);
    t->names = ALLOCATE(char *, t->columns);
    if (shift) t->names[0] = joined("", "");
    for (c = shift; c < t->columns; c++) t->names[c] = cells[c - shift];
    t->headed = 1;
    free(cells);
}

/* Empty, too, while the rows of a table without a heading are read. */
static const char *heading_of(const table *t, int column) {
    if (!t->names || !t->names[column]) return "";
    return t->names[column];
}

/* How a message calls a column. */
static const char *column_name(const table *t, int column) {
    static char text[80];
    if (*heading_of(t, column)) sprintf(text, "column %d '%.50s'", column + 1, t->names[column]);
    else sprintf(text, "column %d without a heading", column + 1);
    return text;
}

/* Whether a heading names the bands, or the rows: there words may stand. */
static int names_names(const char *heading) {
    static const char *const words[] = {"name", "names", "band name", "band_name", "band", "bands", "channel", "channels", "id"};
    char *plain = plain_letters(heading);
    int found = is_one_of(plain, WITH_COUNT(words));
    free(plain);
    return found;
}

/* Copies the next word of a heading in plain letters, as far as there is room for one of a unit. Returns 0 at the end. */
static int next_word(const char **at, char word[24]) {
    size_t length;
    *at += strspn(*at, "/ _()[]{}.,:-");
    length = strcspn(*at, " _()[]{}.,:");
    sprintf(word, "%.*s", (int)(length < 23 ? length : 23), *at);
    *at += length;
    return length > 0;
}

/* The unit among the words of a heading in plain letters after `at`. *foreign: whether there are other words. */
static const wave_unit *unit_in_heading(const char *at, int *foreign) {
    static const char *const fill[] = {"in", "unit", "units", "values", "x"};
    const wave_unit *unit = NULL, *here;
    char word[24];
    *foreign = 0;
    while (next_word(&at, word)) {
        here = unit_of_word(word);
        if (here) unit = here;
        else if (!is_one_of(word, WITH_COUNT(fill))) *foreign = 1;
    }
    return unit;
}

/* Whether a heading of nothing but units is no name of spectra: a.u., x_m and micro may be such, and x_nm and x (m) not. */
static int is_surely_unit(const char *plain) {
    static const char *const names[] = {"m", "a", "u", "mu", "mm", "cm", "micro", "nano"};
    char word[24];
    if (strpbrk(plain, "([{")) return 1;
    while (next_word(&plain, word))
        if (unit_of_word(word) && !is_one_of(word, WITH_COUNT(names))) return 1;
    return 0;
}

/* The number above 0 that a heading is, perhaps with a unit, as 400 nm, or behind the X that R puts before it. Returns 0
   where it is none. *unit: NULL where it states none. */
static int heading_number(const char *heading, double *number, const wave_unit **unit) {
    char *plain = plain_letters(heading), *at = plain, *comma = strchr(plain, ',');
    size_t length = 0;
    int foreign = 0;
    *unit = NULL;
    if (comma) *comma = '.';
    if (*at == 'x') at++;
    if (isdigit((unsigned char)*at) || *at == '.') length = any_number(at, number);
    if (length) *unit = unit_in_heading(at + length, &foreign);
    free(plain);
    return length && !foreign && *number > 0 && isfinite(*number);
}

/* Numbers at the head of a table, which may be the wavelengths of spectra in rows. */
typedef struct number_heading {
    int first; /* 1 behind a column of names, else 0 */
    int count; /* 0: there are none */
    double *list;
    const wave_unit *unit; /* NULL: they state none */
} number_heading;

enum { FEWEST_WAVELENGTHS = 3 };

/* Of a line of headings. A column without a heading at the end is none of them. */
static number_heading numbers_of_headings(const table *t) {
    number_heading h = SHS_ZERO;
    const wave_unit *unit;
    double number;
    int c, last = t->columns;
    while (last > 1 && !*heading_of(t, last - 1)) last--;
    h.first = !heading_number(heading_of(t, 0), &number, &unit);
    if (last - h.first < FEWEST_WAVELENGTHS) return h;
    h.list = ALLOCATE(double, last);
    for (c = h.first; c < last; c++) {
        if (!heading_number(heading_of(t, c), h.list + h.count, &unit) || (h.count && unit != h.unit)) {
            h.count = 0;
            return h;
        }
        h.unit = unit;
        h.count++;
    }
    return h;
}

static void fail_for_word(const table *t, int line, int column, const char *cell) {
    fail(EXIT_ERROR, "%s: line %d: '%.50s' is no number (%s): a table has a row for each band and a column for each spectrum",
         t->name, line, cell, column_name(t, column));
}

/* Notes whether a mark may divide thousands. The row is counted already. */
static void note_form(table *t, enum mark mark, int line, int column, const char *cell) {
    column_form *form = t->forms[mark] + column;
    const size_t digits = strspn(cell, "0123456789");
    if (is_thousands(cell, mark_letters[mark])) {
        if (form->line) return;
        form->line = line;
        form->row = t->rows - 1;
        return;
    }
    if (strchr(cell, mark_letters[mark])) t->decimals[mark]++;
    if (digits == 3 && !cell[digits] && *cell != '0') form->hundreds = 1;
    else if (digits > 3 || cell[digits]) form->other = 1;
}

static void table_row(table *t, int line, char **cells, int count, char separator, int with_names) {
    double *to = t->values + (size_t)t->rows++ * (size_t)t->columns;
    int c;
    if (count != t->columns)
        fail(EXIT_ERROR, "%s: line %d: %d columns, but the first line has %d", t->name, line, count, t->columns);
    if (t->labels) t->labels[t->rows - 1] = joined(cells[0], "");
    for (c = 0; c < count; c++) {
        const int number = cell_number(cells[c], separator, to + c), label = t->labels && c == 0;
        if (!number && !label && !(with_names && names_names(heading_of(t, c)))) fail_for_word(t, line, c, cells[c]);
        if (!number) to[c] = NO_NUMBER;
        if (!number && label && !t->word_line) t->word_line = line;
        if (label && !number) continue;
        if (!number || is_gap(cells[c])) continue; /* a name may have a comma */
        note_form(t, MARK_POINT, line, c, cells[c]);
        note_form(t, MARK_COMMA, line, c, cells[c]);
        t->thousands += is_thousands(cells[c], ',');
    }
    free_cells(cells, count);
}

/* A comma is read as a decimal point, unless it divides cells. Numbers that all look like 1,040 may mean thousands. */
static void warn_of_thousands(const table *t) {
    if (!t->thousands || t->decimals[MARK_COMMA]) return;
    warn("%s: numbers with a comma: %d, all with three digits behind the comma, which is read as a decimal point: 1,040 is 1.04. "
         "If it divides thousands, write 1040",
         t->name, t->thousands);
}

/* 1.040 is a thousand and forty where commas are decimal points, and most likely where 995 stands in its column, too. So is
   1,040 where points are. */
static void refuse_thousands(const table *t, enum mark mark) {
    const enum mark decimal = mark == MARK_POINT ? MARK_COMMA : MARK_POINT;
    const char *const names[] = {"point", "comma"};
    int c;
    for (c = 0; c < t->columns; c++) {
        const column_form *form = t->forms[mark] + c;
        const int others = t->decimals[decimal] > 0;
        char text[40], why[80] = "others in its column are whole numbers of three digits";
        double value;
        if (!form->line || (!others && (!form->hundreds || form->other))) continue;
        value = t->values[(size_t)form->row * (size_t)t->columns + (size_t)c];
        sprintf(text, "%.3f", value);
        *strchr(text, '.') = mark_letters[mark];
        if (others) sprintf(why, "other numbers have decimal %ss", names[decimal]);
        fail(EXIT_ERROR, "%s: line %d: %s (%s): its %s may divide thousands, as %s: write %.0f, or %.4f", t->name, form->line,
             text, column_name(t, c), names[mark], why, 1000 * value, value);
    }
}

static int is_whole(double value) { return value >= 0 && !(value > floor(value)); }

/* Whether a column holds nothing but 0 and 1. */
static int is_zeros_and_ones(const table *t, int column) {
    int r;
    for (r = 0; r < t->rows; r++) {
        const double value = t->values[(size_t)r * (size_t)t->columns + (size_t)column];
        if (!is_whole(value) || value > 1) return 0;
    }
    return t->rows > 2;
}

/* A line like 0,1023 without a heading is one number, or two. */
static void refuse_split_numbers(const table *t, const char *text) {
    int c;
    if (t->headed || strchr(text, '.')) return;
    for (c = 0; c + 1 < t->columns; c++)
        if (is_zeros_and_ones(t, c))
            fail(EXIT_ERROR,
                 "%s: column %d holds nothing but 0 and 1: are its commas decimal points? Write 0.5 for 0,5, divide cells by semicolons, "
                 "or begin with a line of headings",
                 t->name, c + 1);
}

/* The number of the line at `at`, from 1. */
static int line_number(const char *text, const char *at) {
    int line = 1;
    for (; text < at; text++) line += *text == '\n';
    return line;
}

/* ---- spectra with lines of keys above them ---- */

/* ENVI's plots of spectra, and the libraries ECOSTRESS and ASTER, in one text a spectrum. */
enum export_kind { NO_EXPORT, ENVI_PLOT, LIBRARY_TEXT };

/* What stands behind the key on its line, without blanks; NULL: the line has another one. The caller frees it. */
static char *behind_key(const char *line, const char *key) {
    const char *end = line + strcspn(line, "\n");
    if (!begins_with(line, key)) return NULL;
    return tidy_text(line + strlen(key), end, 0);
}

/* What stands behind the first colon of a line; NULL: it has none. The caller frees it. */
static char *behind_colon(const char *line) {
    const size_t length = strcspn(line, "\n"), colon = strcspn(line, ":\n");
    if (colon == length) return NULL;
    return tidy_text(line + colon + 1, line + length, 0);
}

static int begins_as_number(const char *line) {
    return !is_empty_line(line) && strchr("0123456789+-.", line[strspn(line, " \t")]);
}

/* Two cells or more, all of them numbers. */
static int is_line_of_numbers(const char *line) {
    const char separator = separator_of(line);
    double number;
    int count, c, numbers;
    char **cells;
    if (!begins_as_number(line)) return 0;
    cells = table_cells(&line, separator, &count);
    numbers = count > 1;
    for (c = 0; c < count && numbers; c++) numbers = cell_number(cells[c], separator, &number);
    free_cells(cells, count);
    return numbers;
}

/* The first line of numbers; the end of the text: there is none. A key's value may go on in a line that begins with a digit, but
   not directly above the numbers: there one of them is torn, and is told of later. */
static const char *first_numbers(const char *text) {
    const char *begun = NULL;
    for (; *text && !is_line_of_numbers(text); text = next_line(text)) {
        if (!begins_as_number(text)) begun = NULL;
        else if (!begun) begun = text;
    }
    if (begun) return begun;
    return text;
}

static enum export_kind export_kind_of(const char *text, const char *numbers) {
    const char *at;
    if (begins_with(text, "ENVI ASCII Plot File")) return ENVI_PLOT;
    for (at = text; at < numbers && begins_with(text, "Name:"); at = next_line(at))
        if (begins_with(at, "X Units:")) return LIBRARY_TEXT;
    return NO_EXPORT;
}

/* Writes a heading in quotes and a separator. Returns where the next one goes. What ENVI adds behind ~~ is no name. */
static char *add_heading(char *to, char separator, const char *heading) {
    const char *end = strstr(heading, "~~");
    if (!end) end = heading + strlen(heading);
    *to++ = '"';
    for (; heading < end; heading++) *to++ = (char)(*heading == '"' ? '\'' : *heading);
    *to++ = '"';
    *to++ = separator;
    return to;
}

/* The headings that the lines of keys state, divided as the numbers are; *percent: whether they say that the values are such. */
static char *headings_of_keys(const char *text, const char *numbers, enum export_kind kind, int *percent) {
    char *headings = ALLOCATE(char, 2 * strlen(text) + 8), *to = headings, *name = NULL;
    const char separator = separator_of(numbers), *at;
    for (at = text; at < numbers; at = next_line(at)) {
        char *value = behind_key(at, "Name:");
        if (value && !name) name = value;
        else free(value);
        value = behind_key(at, "Y Units:");
        if (value && (strstr(value, "ercent") || strchr(value, '%'))) *percent = 1;
        free(value);
        value = behind_key(at, "X Units:");
        if (!value && kind == ENVI_PLOT && begins_with(at, "Column ")) value = behind_colon(at);
        if (value) to = add_heading(to, separator, value);
        free(value);
    }
    if (name) to = add_heading(to, separator, name);
    if (to > headings) to[-1] = 0;
    free(name);
    return headings;
}

/* Above its numbers splib06 has lines that are no keys. */
static void refuse_splib06(const char *name, const char *text) {
    if (begins_with(text + strspn(text, " \t"), "USGS Digital Spectral Library"))
        fail(EXIT_ERROR,
             "%s: a text of USGS splib06: delete the lines above its numbers, and begin with a line of headings, as "
             "'wavelength_um kaolinite kaolinite_std'",
             name);
}

/* The text as a table: one line of headings in place of the lines of keys, of which empty lines stay, so that messages number
   lines as the file does. Frees what it was given. */
static char *as_table(char *text, int *percent) {
    const char *start = after_byte_order_mark(text), *numbers = first_numbers(start), *at;
    const enum export_kind kind = export_kind_of(start, numbers);
    char *headings, *made, *to;
    if (kind == NO_EXPORT || !*numbers) return text;
    headings = headings_of_keys(start, numbers, kind, percent);
    made = ALLOCATE(char, strlen(text) + strlen(headings) + 1);
    to = made;
    for (at = next_line(start); at < numbers; at = next_line(at)) *to++ = '\n';
    strcpy(to, headings);
    strcat(to, "\n");
    strcat(to, numbers);
    free(headings);
    free(text);
    return made;
}

/* All but the column of wavelengths. */
static void divide_table(table *t, int wavelengths, double by) {
    int r, c;
    for (r = 0; r < t->rows; r++)
        for (c = 0; c < t->columns; c++)
            if (c != wavelengths) t->values[(size_t)r * (size_t)t->columns + (size_t)c] /= by;
}

/* Values in percent become shares of 1. */
static void divide_percents(table *t) {
    divide_table(t, 0, 100);
    printf("%s: its values are divided by 100, as its Y Units are percent\n", t->name);
}

/* The number of lines that hold cells, and where the first two and the last of them begin. */
static size_t table_lines(const char *text, const char **first, const char **second, const char **last) {
    size_t lines = 0;
    for (*first = *second = *last = text; *text; text = next_line(text)) {
        if (is_empty_line(text) || is_comment(text) || (!lines && is_bare_row(text))) continue;
        *last = text;
        if (lines < 1) *first = text;
        if (lines < 2) *second = text;
        lines++;
    }
    return lines;
}

/* The columns of the first line that is no heading; *open_ended: whether the last of them is empty. */
static int table_width(const char *first, const char *second, char separator, int *open_ended) {
    int count;
    char **cells = table_cells(&first, separator, &count);
    if (is_heading(cells, count, separator)) {
        free_cells(cells, count);
        cells = table_cells(&second, separator, &count);
    }
    *open_ended = count > 1 && !*cells[count - 1];
    free_cells(cells, count);
    return count;
}

/* Takes the words of a comment as the heading, where they are as many as the columns. */
static void heading_in_comment(table *t, const char *comment, char separator, int line) {
    int count;
    char **words = table_cells(&comment, separator, &count);
    if (count == t->columns && is_heading(words, count, separator)) table_heading(t, words, count, line + 1);
    else free_cells(words, count);
}

/* Where the headings are numbers behind the first, the first column may name the rows. */
static void prepare_labels(table *t, size_t lines) {
    number_heading h = numbers_of_headings(t);
    if (h.count && h.first) t->labels = (char **)allocate(lines, sizeof *t->labels);
    free(h.list);
}

/* Whether a line without a cell may be a row: in one column it may have nothing at all. */
static int may_be_row(const table *t, const char *line) {
    return is_bare_row(line) || (t->columns == 1 && t->rows && is_empty_line(line));
}

/* with_names: a column `name` or `band` may hold words. */
static table table_read_with(const char *name, int with_names) {
    table t = SHS_ZERO;
    int percent = 0;
    char *text = table_text(name), separator;
    const int behind = end_behind_cells(text);
    const char *start, *at, *first, *second, *last, *comment = NULL;
    size_t lines;
    int line, count, mark;
    hide_controls(text);
    refuse_splib06(name, text);
    text = as_table(text, &percent);
    start = after_byte_order_mark(text);
    if (begins_with(start, "sep=")) start = next_line(start); /* Excel's */
    line = line_number(text, start) - 1;
    lines = table_lines(start, &first, &second, &last);
    separator = separator_of(last);
    t.columns = table_width(first, second, separator, &t.open_ended);
    t.name = name;
    t.wavelengths = -1;
    t.band_numbers = -1;
    t.values = (double *)allocate(lines + 1, (size_t)t.columns * sizeof(double));
    for (mark = 0; mark < MARKS; mark++) t.forms[mark] = ALLOCATE(column_form, t.columns);
    for (at = start; *at;) {
        char **cells;
        line++;
        if (is_empty_line(at) || is_comment(at) || (!t.names && !t.rows && is_bare_row(at))) {
            if (is_comment(at)) comment = at + strspn(at, " #");
            t.dropped += may_be_row(&t, at);
            at = next_line(at);
            continue;
        }
        if (comment && !t.names && !t.rows) heading_in_comment(&t, comment, separator, line);
        cells = table_cells(&at, separator, &count);
        if (!t.names && !t.rows && is_heading(cells, count, separator)) {
            table_heading(&t, cells, count, line_number(text, second));
            t.dropped = 0;
        } else {
            if (t.headed && !t.rows) prepare_labels(&t, lines);
            table_row(&t, line, cells, count, separator, with_names);
        }
    }
    t.dropped += behind;
    refuse_thousands(&t, MARK_POINT);
    refuse_thousands(&t, MARK_COMMA);
    warn_of_thousands(&t);
    for (mark = 0; mark < MARKS; mark++) {
        free(t.forms[mark]);
        t.forms[mark] = NULL;
    }
    if (percent) divide_percents(&t);
    if (separator == ',') refuse_split_numbers(&t, start);
    if (!t.names) t.names = ALLOCATE(char *, t.columns);
    t.left_out = ALLOCATE(unsigned char, t.columns);
    free(text);
    return t;
}

/* The names of a library's spectra. A list of another number of names would name the wrong ones: a name may hold a comma. */
static void name_columns(table *t, const cube_file *f) {
    int count, differs, k;
    const char *list = header_find(&f->text, "spectra names", &differs);
    char **items;
    if (!list) return;
    items = split_items(list, &count);
    drop_last_comma(items, &count, f->lines);
    if (count == f->lines)
        for (k = 0; k < count; k++) t->names[k] = joined(items[k], "");
    else
        warn("%s: spectra names: %d names for %d spectra: they are not used, and the spectra are numbered", f->header_name, count,
             f->lines);
    free_items(items, count);
}

/* Gains lead to one unit, and the pixels may be in another: without --gains they are as stored, as these spectra are. */
static void warn_of_unused_gains(const cube_file *f) {
    static const char *const keys[] = {"data gain values", "data offset values", reflectance_gains, reflectance_offsets};
    int differs;
    size_t i;
    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if (header_find(&f->text, keys[i], &differs))
            warn("%s: %s: they are not applied to the spectra of a library, which are taken as they are stored", f->header_name,
                 keys[i]);
}

/* ENVI's spectral library as a table, with its wavelengths in the last column. */
static table library_read(const char *name) {
    table t = SHS_ZERO;
    cube_file f = cube_open(name, NULL);
    int named = has_wavelengths(&f), k, b;
    char *values;
    if (!is_library(&f.text)) fail(EXIT_ERROR, "%s: file type: it is no ENVI Spectral Library", f.header_name);
    t.name = name;
    if (f.lines > INT_MAX - named) fail(EXIT_ERROR, "%s: lines: %d spectra are too many", f.header_name, f.lines);
    t.rows = f.bands;
    t.columns = f.lines + named;
    if (named) t.wavelengths = f.lines;
    else t.wavelengths = -1;
    t.band_numbers = -1;
    if (named) t.unit = unit_of(&f);
    t.factor = stated_factor(&f.text);
    warn_of_unused_gains(&f);
    t.headed = 1;
    t.names = ALLOCATE(char *, t.columns);
    t.left_out = ALLOCATE(unsigned char, t.columns);
    t.values = (double *)allocate((size_t)t.rows, (size_t)t.columns * sizeof(double));
    values = room_for_lines(&f, f.lines);
    must_read(&f, 0, f.lines, values);
    name_columns(&t, &f);
    for (k = 0; k < f.lines; k++)
        for (b = 0; b < f.bands; b++) {
            double value = get_value(values, value_index(&f, f.lines, k, 0, b), f.type, f.swap);
            if (is_missing(&f, value) || is_gap_number(value)) value = NO_NUMBER;
            if (f.axis.good && !(f.axis.good[b] > 0)) value = NO_NUMBER;
            t.values[(size_t)b * (size_t)t.columns + (size_t)k] = value;
        }
    for (b = 0; named && b < f.bands; b++) t.values[(size_t)b * (size_t)t.columns + (size_t)f.lines] = f.axis.wavelength[b];
    free(values);
    cube_close(&f);
    return t;
}

static void table_free(table *t) {
    int c, r;
    for (c = 0; c < t->columns; c++) free(t->names[c]);
    for (c = 0; t->ordered && c < t->columns; c++) free(t->ordered[c].text);
    free(t->ordered);
    for (r = 0; t->labels && r < t->rows; r++) free(t->labels[r]);
    free(t->labels);
    free(t->names);
    free(t->left_out);
    free(t->values);
}

/* ---- which columns are spectra ------------------------------------------------------------------------------------ */

static double table_value(const table *t, int row, int column) {
    return t->values[(size_t)row * (size_t)t->columns + (size_t)column];
}

static double *table_column(const table *t, int column) {
    double *list = ALLOCATE(double, t->rows);
    int r;
    for (r = 0; r < t->rows; r++) list[r] = table_value(t, r, column);
    return list;
}

/* Whether one of the words begins the text. */
static int begins_with_any(const char *text, const char *const *words, size_t count) {
    size_t i;
    for (i = 0; i < count; i++)
        if (begins_with(text, words[i])) return 1;
    return 0;
}

/* Whether a heading in plain letters may name wavelengths. *unit: the unit in the heading, NULL for none. */
static int may_name_wavelengths(const char *plain, const wave_unit **unit) {
    static const char *const anywhere[] = {"wavelength",          "wave length", "wave_length", "wavenumber",
                                           "wave number",         "wellenl",     "longueur d",  "longitud de onda",
                                           "comprimento de onda", "lunghezza d", "golflengte",  "wellenzahl"};
    static const char *const first[] = {"wavelen",    "wvls",        "wvl",         "wls",         "wl",
                                        "waves",      "wave",        "wav",         "lambda",      "frequency",
                                        "freq",       "band center", "band centre", "band_center", "band_centre",
                                        "bandcenter", "bandcentre",  "center",      "centre",      "energy",
                                        "photon energy", "nu",       "cwl"};
    const char *at;
    int foreign, found = 0;
    size_t i;
    *unit = NULL;
    for (i = 0; !found && i < sizeof anywhere / sizeof *anywhere; i++) {
        at = strstr(plain, anywhere[i]);
        if (!at) continue;
        found = 1;
        at += strlen(anywhere[i]);
        if (*at == 's') at++;
        *unit = unit_in_heading(at, &foreign);
        if (!*unit && (strstr(plain, "number") || strstr(plain, "wellenzahl"))) *unit = &wave_units[UNIT_WAVENUMBER];
    }
    for (i = 0; !found && i < sizeof first / sizeof *first; i++) {
        size_t length = strlen(first[i]);
        if (!begins_with(plain, first[i]) || isalnum((unsigned char)plain[length])) continue;
        *unit = unit_in_heading(plain + length, &foreign);
        if (!*unit && strstr(plain, "energy")) *unit = &wave_units[UNIT_EV];
        found = !foreign;
        break;
    }
    if (!found && is_surely_unit(plain) && !begins_with(plain, "mil") && !begins_with(plain, "cent")) {
        *unit = unit_in_heading(plain, &foreign);
        found = *unit && !foreign;
    }
    return found;
}

/* How sure it is that a heading names wavelengths: "center" may name a spectrum. */
enum naming { NAMES_OTHER, NAMES_PERHAPS, NAMES_SURELY };

static enum naming names_wavelengths(const char *heading, const wave_unit **unit) {
    static const char *const perhaps[] = {"center", "centre", "waves", "wave", "wav", "nu"};
    char *plain = plain_letters(heading);
    enum naming naming = NAMES_OTHER;
    if (may_name_wavelengths(plain, unit)) naming = NAMES_SURELY;
    if (naming == NAMES_SURELY && !*unit && is_one_of(plain, WITH_COUNT(perhaps))) naming = NAMES_PERHAPS;
    free(plain);
    return naming;
}

/* Names of columns that number the rows. */
static int names_index(const char *heading) {
    static const char *const words[] = {
        "",           "index", "idx",     "id",       "band", "bands", "band number", "band_number", "band no", "band no.",
        "bandnumber", "b",     "channel", "channels", "row",  "rows",  "no",          "no.",         "nr",      "nr.",
        "number",     "#",     "n",       "x",        "i"};
    char *plain = plain_letters(heading);
    int found = is_one_of(plain, WITH_COUNT(words)) || begins_with(plain, "unnamed");
    free(plain);
    return found;
}

/* Of these the names that a spectrum may have, too. */
static int may_name_spectrum(const char *heading) {
    static const char *const words[] = {"x", "b", "i", "n"};
    return is_one_of(heading, WITH_COUNT(words));
}

/* Of these the names that say which bands the rows are. */
static int names_bands(const char *heading) {
    static const char *const words[] = {"band",    "bands",    "band number", "band_number", "band no",
                                        "band no.", "bandnumber", "channel",     "channels"};
    char *plain = plain_letters(heading);
    int found = is_one_of(plain, WITH_COUNT(words));
    free(plain);
    return found;
}

/* Whether a heading names the widths of bands. */
static int is_width(const char *heading) {
    static const char *const words[] = {"fwhm", "bandwidth", "band width", "band_width", "width"};
    char *plain = plain_letters(heading);
    int found = begins_with_any(plain, WITH_COUNT(words));
    free(plain);
    return found;
}

/* Names of what is said of bands, and is no spectrum. */
static int names_property(const char *heading) {
    static const char *const words[] = {"bandpass", "band pass", "bbl", "bad band"};
    char *plain = plain_letters(heading);
    int found = begins_with_any(plain, WITH_COUNT(words));
    free(plain);
    return found || is_width(heading);
}

static int names_deviation(const char *heading) {
    static const char *const words[] = {"std", "stdev", "stddev", "std dev", "std. dev.", "std_dev", "sd", "sigma", "variance"};
    char *plain = plain_letters(heading);
    int found = is_one_of(plain, WITH_COUNT(words)) || begins_with(plain, "standard dev");
    free(plain);
    return found;
}

/* The heading in plain letters without a word for deviations at its end, such as quartz of quartz_std; NULL where it has none. */
static char *without_deviation(const char *heading) {
    char *plain = plain_letters(heading), *word;
    size_t length = strlen(plain);
    while (length && strchr(" )]}", plain[length - 1])) plain[--length] = 0;
    word = plain + length;
    while (word > plain && !strchr(" _(.-[:/", word[-1])) word--;
    if (word == plain || !names_deviation(word)) {
        free(plain);
        return NULL;
    }
    while (word > plain && strchr(" _(.-[:/", word[-1])) *--word = 0;
    return plain;
}

/* Orders headings, letters and digits behind all other characters: behind a word come all headings that begin with the whole
   word, and only then those that begin with a longer one. */
static int by_words(const void *a, const void *b) {
    const char *x = ((const plain_heading *)a)->text, *y = ((const plain_heading *)b)->text;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    if (is_letter_or_digit(*x) != is_letter_or_digit(*y)) return is_letter_or_digit(*x) - is_letter_or_digit(*y);
    return (unsigned char)*x - (unsigned char)*y;
}

/* In that order. A table may have a hundred thousand columns. */
static plain_heading *ordered_headings(const table *t) {
    plain_heading *list = ALLOCATE(plain_heading, t->columns);
    int c;
    for (c = 0; c < t->columns; c++) {
        list[c].text = plain_letters(heading_of(t, c));
        list[c].column = c;
    }
    qsort(list, (size_t)t->columns, sizeof *list, by_words);
    return list;
}

/* Whether this column is the deviation of another one, whose heading begins alike: quartz and quartz_std, or quartz_mean. In
   the ordered list these headings follow each other: only the column and its neighbour are looked at. */
static int is_deviation(const table *t, int column) {
    plain_heading stem;
    int low = 0, high = t->columns, i, found = 0;
    stem.text = without_deviation(heading_of(t, column));
    if (!stem.text) return 0;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (by_words(t->ordered + middle, &stem) < 0) low = middle + 1;
        else high = middle;
    }
    for (i = low; *stem.text && i < t->columns && i < low + 2; i++) {
        const char *other = t->ordered[i].text;
        if (t->ordered[i].column == column) continue;
        found |= begins_with(other, stem.text) && !is_letter_or_digit(other[strlen(stem.text)]);
    }
    free(stem.text);
    return found;
}

static int is_gap_column(const table *t, int column) {
    int r;
    for (r = 0; r < t->rows; r++)
        if (!isnan(table_value(t, r, column))) return 0;
    return t->rows > 0;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void reverse(double *list, int count) {
    int i;
    for (i = 0; i < count / 2; i++) {
        const double kept = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = kept;
    }
}

static double least_of_column(const table *t, int column) {
    double least = table_value(t, 0, column);
    int r;
    for (r = 1; r < t->rows; r++) least = fmin(least, table_value(t, r, column));
    return least;
}

static double most_of_column(const table *t, int column) {
    double most = 0;
    int r;
    for (r = 0; r < t->rows; r++)
        if (fabs(table_value(t, r, column)) > most) most = fabs(table_value(t, r, column));
    return most;
}

/* Different whole numbers from 0 on, in any order. */
static int is_counting(const table *t, int column) {
    double *list = table_column(t, column);
    int counting = 1, r;
    for (r = 0; r < t->rows && counting; r++) counting = is_whole(list[r]);
    if (counting) qsort(list, (size_t)t->rows, sizeof *list, by_size);
    for (r = 1; r < t->rows && counting; r++) counting = list[r] > list[r - 1];
    free(list);
    return counting;
}

/* The same without gaps: rows that were numbered, and then perhaps sorted by another column. */
static int is_consecutive(const table *t, int column) {
    double least;
    if (!t->rows || !is_counting(t, column)) return 0;
    least = least_of_column(t, column);
    return most_of_column(t, column) - least < t->rows && (least <= 1 || t->rows > 3);
}

static int is_ascending(const table *t, int column) {
    int r;
    for (r = 1; r < t->rows; r++)
        if (!(table_value(t, r, column) > table_value(t, r - 1, column))) return 0;
    return 1;
}

/* Whether wavelengths in nanometres reach all bands in use. */
static int reaches_bands(const job *j, const wave_unit *unit, const double *list, int count) {
    double low = to_nanometres(unit, list[0]), high = low;
    int i;
    for (i = 0; i < count; i++) {
        double here = to_nanometres(unit, list[i]);
        if (!(list[i] > 0)) return 0;
        low = fmin(low, here);
        high = fmax(high, here);
    }
    for (i = 0; i < j->cube.band_count; i++) {
        double wanted = band_nanometres(&j->in, j->bands[i]);
        if (wanted < low - 1 || wanted > high + 1) return 0;
    }
    return 1;
}

/* Guesses the unit of wavelengths: the stated one (NULL: none), or the cube's unit or a usual unit, in which the list covers the
   bands. NULL: none does. */
static const wave_unit *unit_that_reaches(const job *j, const wave_unit *stated, const double *list, int count) {
    const wave_unit *tried[3];
    int i;
    if (stated) return reaches_bands(j, stated, list, count) ? stated : NULL;
    tried[0] = unit_of(&j->in);
    tried[1] = &wave_units[UNIT_NM];
    tried[2] = &wave_units[UNIT_UM];
    for (i = 0; i < 3; i++)
        if (reaches_bands(j, tried[i], list, count)) return tried[i];
    return NULL;
}

/* Whether the numbers of a column are the wavelengths of the bands, of all or of those in use. */
static int is_cubes_list(const job *j, const double *list, int count) {
    const cube_file *in = &j->in;
    double step = mean_step(list, count);
    int i, all = count == in->bands;
    if (!all && count != j->cube.band_count) return 0;
    for (i = 0; i < count; i++)
        if (!same_wavelength(list[i], in->axis.wavelength[all ? i : j->bands[i]], step)) return 0;
    return 1;
}

/* Returns non-zero if the numbers of a column look like wavelengths: equal to the cube's, or covering all bands of the cube in the
   unit of its heading, or in any without one (stated: NULL). */
static int looks_like_wavelengths(const job *j, const table *t, int column, const wave_unit *stated, int *exactly) {
    double *list;
    int found;
    *exactly = 0;
    if (!has_wavelengths(&j->in) || t->rows < 2) return 0;
    list = table_column(t, column);
    *exactly = is_cubes_list(j, list, t->rows);
    found = *exactly || (t->rows > 2 && is_monotone(list, t->rows) && unit_that_reaches(j, stated, list, t->rows));
    free(list);
    return found;
}

static void leave_out(table *t, int column, const char *why) {
    t->left_out[column] = 1;
    if (why) printf("%s: %s %s: it is no spectrum\n", t->name, column_name(t, column), why);
}

/* Whether a column numbers the rows, by its heading and its numbers. */
static int numbers_rows(const table *t, int column) {
    const char *heading = heading_of(t, column);
    if (!names_index(heading)) return 0;
    if (!*heading) return is_consecutive(t, column);
    if (!is_counting(t, column)) return 0;
    return !may_name_spectrum(heading) || is_ascending(t, column);
}

/* Whether it numbers them from 0 or 1 without a gap. Such numbers are no wavelengths, though 1 to 100 um reach all bands of an
   infrared cube. */
static int numbers_all_rows(const table *t, int column) {
    return numbers_rows(t, column) && is_consecutive(t, column) && least_of_column(t, column) <= 1;
}

/* The same of any column, of which headings that a spectrum may have say too little. */
static int surely_numbers_rows(const job *j, const table *t, int column) {
    const char *heading = heading_of(t, column);
    int exactly;
    if (!*heading || may_name_spectrum(heading) || !numbers_rows(t, column)) return 0;
    return t->wavelengths >= 0 || !j || numbers_all_rows(t, column) || !looks_like_wavelengths(j, t, column, NULL, &exactly);
}

/* Takes the rows by the numbers of a column, where it names bands or numbers rows that stand in another order. */
static void take_numbers(table *t, int column) {
    const int shuffled = t->wavelengths < 0 && t->band_numbers < 0 && !is_ascending(t, column);
    if (names_bands(heading_of(t, column)) || shuffled) t->band_numbers = column;
}

static void leave_out_numbering(table *t, int column) {
    leave_out(t, column, "numbers the rows");
    take_numbers(t, column);
}

/* Whether the numbers of a column are in the order of wavelengths, perhaps of several detectors. */
static int is_ordered(const table *t, int column) {
    double *list;
    wave_runs runs;
    int ordered, r;
    if (t->rows < 2) return 0;
    list = table_column(t, column);
    runs = find_runs(list, t->rows);
    ordered = !is_shuffled(&runs, list, t->rows);
    for (r = 0; r < t->rows && ordered; r++) ordered = list[r] > 0;
    free(runs.of);
    free(list);
    return ordered;
}

/* Returns the first column whose heading names wavelengths with this certainty; -1: none. *unit: the unit in the heading. */
static int column_naming(const table *t, enum naming naming, const wave_unit **unit) {
    int c;
    for (c = 0; c < t->columns; c++)
        if (names_wavelengths(heading_of(t, c), unit) == naming && !is_width(heading_of(t, c))) return c;
    *unit = NULL;
    return -1;
}

/* Returns the column of wavelengths in a table without spectra; -1: none. *unit: the unit in its heading. */
static int find_wavelengths(const table *t, const wave_unit **unit) {
    int column = column_naming(t, NAMES_SURELY, unit);
    if (column >= 0) return column;
    return column_naming(t, NAMES_PERHAPS, unit);
}

/* Whether the numbers of a column reach all bands in use as wavelengths, in some unit. */
static int column_reaches(const job *j, const table *t, int column) {
    double *list = table_column(t, column);
    const wave_unit *unit = unit_that_reaches(j, NULL, list, t->rows);
    free(list);
    return unit != NULL;
}

/* The same in a table of spectra, where a column "center" may hold the spectrum of a place. j: NULL for no cube. */
static int find_wavelengths_beside_spectra(const job *j, const table *t, const wave_unit **unit) {
    int column = column_naming(t, NAMES_SURELY, unit);
    if (column >= 0) return column;
    column = column_naming(t, NAMES_PERHAPS, unit);
    if (column < 0 || !is_ordered(t, column)) return -1;
    if (j && has_wavelengths(&j->in) && !column_reaches(j, t, column))
        fail(EXIT_ERROR,
             "%s: %s may hold wavelengths, which do not reach all bands in use, or a spectrum: call it wavelength, or give it "
             "another name",
             t->name, column_name(t, column));
    printf("%s: %s holds wavelengths\n", t->name, column_name(t, column));
    return column;
}

/* A first column whose heading does not tell, or without one: wavelengths, the number of the row, or a spectrum. Returns whether
   it numbers the rows, so that the next column is the first one of those that remain. */
static int classify_first(const job *j, table *t, int first, int named) {
    const char *heading = heading_of(t, first);
    int index = named && names_index(heading), exactly, monotone, foreign, c;
    double most = 0, *list;
    char *plain = plain_letters(heading);
    const wave_unit *stated = unit_in_heading(plain, &foreign);
    free(plain);
    if (looks_like_wavelengths(j, t, first, stated, &exactly) && (exactly || !numbers_all_rows(t, first))) {
        if (named && !index && !exactly && !stated)
            fail(EXIT_ERROR, "%s: %s looks like wavelengths: call it wavelength, or move it behind another column", t->name,
                 column_name(t, first));
        printf("%s: %s holds wavelengths\n", t->name, column_name(t, first));
        t->wavelengths = first;
        if (!exactly) t->unit = stated;
        return 0;
    }
    if (numbers_rows(t, first) && (named || (numbers_all_rows(t, first) && (t->rows > 2 || is_ascending(t, first))))) {
        leave_out_numbering(t, first);
        return 1;
    }
    if (index && !*heading)
        fail(EXIT_ERROR, "%s: column %d has no heading: give it a name, call it wavelength, or delete it", t->name, first + 1);
    if (index && !may_name_spectrum(heading))
        fail(EXIT_ERROR, "%s: %s is no spectrum by its heading: give it a name, call it wavelength, or delete it", t->name,
             column_name(t, first));
    if (named && !index) return 0;
    for (c = first + 1; c < t->columns; c++) most = fmax(most, most_of_column(t, c));
    list = table_column(t, first);
    monotone = t->rows > 2 && is_monotone(list, t->rows);
    free(list);
    if (monotone && most_of_column(t, first) > 20 * most)
        fail(EXIT_ERROR, "%s: %s looks like wavelengths, and %s: a line of headings says what columns are", t->name,
             column_name(t, first), has_wavelengths(&j->in) ? "does not reach all bands in use" : "the cube states none");
    return 0;
}

static int spectra_left(const table *t) {
    int c, left = 0;
    for (c = 0; c < t->columns; c++) left += !t->left_out[c] && c != t->wavelengths;
    return left;
}

/* Reads the headings: finds the column of wavelengths, and leaves out columns that hold no spectrum. j: NULL for no cube. */
static void classify_headings(const job *j, table *t) {
    const wave_unit *unit;
    int c;
    t->wavelengths = find_wavelengths_beside_spectra(j, t, &t->unit);
    for (c = 0; c < t->columns; c++) {
        const char *heading = heading_of(t, c);
        if (c == t->wavelengths) continue;
        if (!*heading && t->columns > 1 && is_gap_column(t, c)) leave_out(t, c, NULL);
        else if (names_wavelengths(heading, &unit) == NAMES_SURELY) leave_out(t, c, "holds wavelengths, too");
        else if (names_property(heading)) leave_out(t, c, "says something of the bands");
        else if (is_deviation(t, c)) leave_out(t, c, "holds deviations");
        else if (surely_numbers_rows(j, t, c) && spectra_left(t) > 1) leave_out_numbering(t, c);
        else if (names_deviation(heading))
            fail(EXIT_ERROR, "%s: %s is no spectrum by its heading: delete it", t->name, column_name(t, c));
    }
    if (t->wavelengths > 0 && spectra_left(t) > 1 && !t->left_out[0] && t->headed && numbers_rows(t, 0))
        leave_out_numbering(t, 0);
}

/* A column of the cube's own wavelengths, from either end. */
static void find_own_wavelengths(const job *j, table *t) {
    int c, found;
    if (!has_wavelengths(&j->in) || t->rows < 3) return;
    for (c = 0; c < t->columns && t->wavelengths < 0; c++) {
        double *list;
        if (t->left_out[c]) continue;
        list = table_column(t, c);
        found = is_cubes_list(j, list, t->rows);
        reverse(list, t->rows);
        found = found || is_cubes_list(j, list, t->rows);
        free(list);
        if (!found) continue;
        printf("%s: %s holds wavelengths\n", t->name, column_name(t, c));
        t->wavelengths = c;
        t->unit = unit_of(&j->in);
    }
}

/* The same, and by the numbers of columns where no heading names wavelengths: the first columns, or those of the cube. */
static void classify_columns(const job *j, table *t) {
    int c;
    classify_headings(j, t);
    for (c = 0; c < t->columns && t->wavelengths < 0 && spectra_left(t) > 1; c++) {
        if (t->left_out[c]) continue;
        if (!classify_first(j, t, c, t->headed)) break;
    }
    if (spectra_left(t) > 1) find_own_wavelengths(j, t);
    if (!t->rows || !spectra_left(t)) fail(EXIT_ERROR, "%s: it holds no spectrum", t->name);
}

/* ---- spectra in rows ---------------------------------------------------------------------------------------------- */

enum layout { BANDS_IN_ROWS, SPECTRA_IN_ROWS, LAYOUT_UNCLEAR };

/* Those of the headings, or of the first row where there are none. */
static number_heading numbers_at_head(const table *t) {
    number_heading h = SHS_ZERO;
    if (t->headed) return numbers_of_headings(t);
    if (t->rows < 2 || t->columns < FEWEST_WAVELENGTHS) return h;
    h.list = ALLOCATE(double, t->columns);
    h.count = t->columns - t->open_ended;
    memcpy(h.list, t->values, (size_t)t->columns * sizeof *h.list);
    return h;
}

/* Whether numbers ascend or descend, and do more than number columns from 0 or 1. */
static int may_be_wavelengths(const number_heading *h) {
    int i;
    for (i = 0; i < h->count; i++)
        if (!(h->list[i] > 0)) return 0;
    if (!is_monotone(h->list, h->count)) return 0;
    return h->list[0] > 1 || !is_whole(h->list[0]) || fabs(h->list[h->count - 1] - h->list[0]) > h->count - 1;
}

/* Whether every number at the head is far above those below. */
static int is_far_above(const table *t, const number_heading *h) {
    double most = 0;
    int r, c;
    for (r = !t->headed; r < t->rows; r++)
        for (c = h->first; c < t->columns; c++) most = fmax(most, fabs(table_value(t, r, c)));
    return fmin(h->list[0], h->list[h->count - 1]) > 20 * most;
}

/* Whether a heading is that of a column which names spectra, and nothing else. */
static int names_spectra(const char *heading) {
    static const char *const words[] = {"name",    "spectr", "sampl",  "label",   "class", "material",
                                        "mineral", "endmem", "target", "species", "file"};
    char *plain = plain_letters(heading);
    const int found = begins_with_any(plain, WITH_COUNT(words));
    free(plain);
    return found;
}

/* Whether the first column holds wavelengths. Beside a cube with wavelengths the column must reach the cube's; otherwise the
   column's heading (`named`) decides. *exactly: whether they are the cube's. */
static int first_is_wavelengths(const job *j, const table *t, int named, int *exactly) {
    *exactly = 0;
    if (j && has_wavelengths(&j->in))
        return looks_like_wavelengths(j, t, 0, NULL, exactly) && (*exactly || !is_consecutive(t, 0));
    return named && is_ordered(t, 0) && !(is_consecutive(t, 0) && least_of_column(t, 0) <= 1);
}

static int fits_bands(const job *j, int count) { return j && (count == j->in.bands || count == j->cube.band_count); }

/* The one place that decides it. Spectra in rows have wavelengths at the head, and bands in rows may have spectra whose
   names are numbers. j: NULL for no cube. */
static enum layout layout_of(const job *j, const table *t, const number_heading *h) {
    const wave_unit *unit;
    const char *heading = heading_of(t, 0);
    const int waves = j && has_wavelengths(&j->in);
    const int exact = waves && is_cubes_list(j, h->list, h->count);
    const int named = h->first && names_wavelengths(heading, &unit) == NAMES_SURELY;
    int column, column_exact, in_rows, suspect;
    if (!exact && !may_be_wavelengths(h)) return BANDS_IN_ROWS;
    if (t->word_line) {
        if (exact || !*heading || named || names_spectra(heading) || names_index(heading)) return SPECTRA_IN_ROWS;
        return LAYOUT_UNCLEAR; /* `soil,0.1,0.2,0.3` is a spectrum without headings above it */
    }
    column = first_is_wavelengths(j, t, named, &column_exact);
    if (exact && !column_exact) return SPECTRA_IN_ROWS;
    if (column && !exact) return BANDS_IN_ROWS;
    if (h->first && names_spectra(heading)) return SPECTRA_IN_ROWS;
    in_rows = !waves || unit_that_reaches(j, h->unit, h->list, h->count);
    if (j && !waves) in_rows = fits_bands(j, h->count);
    suspect = in_rows;
    if (!h->first && !exact) {
        const int far_above = is_far_above(t, h);
        suspect = far_above || (waves && in_rows);
        in_rows = far_above && in_rows;
    }
    if (h->first && names_bands(heading) && is_counting(t, 0) && (!j || t->rows >= j->cube.band_count)) return BANDS_IN_ROWS;
    if (!t->headed && !exact && numbers_all_rows(t, 0)) return BANDS_IN_ROWS;
    if (in_rows && !fits_bands(j, t->rows)) return SPECTRA_IN_ROWS;
    if (named || !fits_bands(j, t->rows)) return BANDS_IN_ROWS;
    if (suspect || (waves && h->first)) return LAYOUT_UNCLEAR;
    return BANDS_IN_ROWS;
}

/* The heading of the wavelengths, which the caller frees. */
static char *heading_of_turned(const table *t, const number_heading *h) {
    const wave_unit *unit;
    char *begun, *heading;
    if (h->first && names_wavelengths(heading_of(t, 0), &unit) == NAMES_SURELY && (unit || !h->unit))
        return joined(heading_of(t, 0), "");
    if (!h->unit) return joined("wavelength", "");
    begun = joined("wavelength (", h->unit->name);
    heading = joined(begun, ")");
    free(begun);
    return heading;
}

/* The same spectra with a row for each band, behind a column of wavelengths. */
static void turn_table(table *t, const number_heading *h) {
    const int above = !t->headed, count = t->rows - above, columns = count + 1;
    char **names = ALLOCATE(char *, columns);
    double *values = ALLOCATE(double, elements(columns, h->count));
    int b, k;
    printf("%s: it has wavelengths at its head, and a spectrum in each row\n", t->name);
    names[0] = heading_of_turned(t, h);
    for (k = 0; k < count && t->labels; k++) names[k + 1] = joined(t->labels[k], "");
    for (b = 0; b < h->count; b++) {
        double *to = values + elements(columns, b);
        to[0] = h->list[b];
        for (k = 0; k < count; k++) to[k + 1] = table_value(t, above + k, h->first + b);
    }
    table_free(t);
    t->labels = NULL;
    t->ordered = NULL;
    t->headed = 1;
    t->open_ended = 0;
    t->dropped = 0;
    t->rows = h->count;
    t->columns = columns;
    t->names = names;
    t->left_out = ALLOCATE(unsigned char, columns);
    t->values = values;
}

/* A table with a row for each band, also where the file has a row for each spectrum. j: NULL for no cube. */
static table table_read(const job *j, const char *name) {
    table t = table_read_with(name, 0);
    number_heading h = numbers_at_head(&t);
    enum layout layout = BANDS_IN_ROWS;
    if (h.count && t.rows) layout = layout_of(j, &t, &h);
    if (layout == LAYOUT_UNCLEAR)
        fail(EXIT_ERROR,
             "%s: its first line holds numbers, %.6g to %.6g, which may be wavelengths of spectra in rows. Where each row is a "
             "spectrum, put a column `name` before them; where each row is a band, a column `wavelength` or `band`",
             name, h.list[0], h.list[h.count - 1]);
    if (layout == SPECTRA_IN_ROWS) turn_table(&t, &h);
    else if (t.word_line) fail_for_word(&t, t.word_line, 0, t.labels[0]);
    free(h.list);
    t.ordered = ordered_headings(&t);
    return t;
}

/* ---- which rows are bands ----------------------------------------------------------------------------------------- */

/* A band lies between two rows of a table: value = (1 - share) * that of `low` + share * that of `high`. */
typedef struct row_place {
    int low, high;
    double share;
} row_place;

static row_place whole_row(int row) {
    row_place place;
    place.low = place.high = row;
    place.share = 0;
    return place;
}

typedef struct row_order {
    double at;
    int row;
} row_order;

static int by_wavelength(const void *a, const void *b) {
    const row_order *x = (const row_order *)a;
    const row_order *y = (const row_order *)b;
    if (x->at < y->at || x->at > y->at) return (x->at > y->at) - (x->at < y->at);
    return (x->row > y->row) - (x->row < y->row);
}

/* Rows of one wavelength all get the mean of their values. */
static void merge_rows(table *t, const row_order *order, int count) {
    int first, last, c, i;
    for (first = 0; first < count; first = last) {
        for (last = first + 1; last < count && order[last].at <= order[first].at; last++) {}
        for (c = 0; last > first + 1 && c < t->columns; c++) {
            double sum = 0;
            for (i = first; i < last; i++) sum += table_value(t, order[i].row, c);
            for (i = first; i < last; i++)
                t->values[(size_t)order[i].row * (size_t)t->columns + (size_t)c] = sum / (last - first);
        }
    }
}

/* Places a wavelength among ascending rows. The digits of a list end somewhere: a tenth of a step beyond an end, 1 nm at most,
   is the end. Returns 0 where it is farther. */
static int place_among(const row_order *order, int count, double wanted, double step, row_place *place) {
    double beyond = 2e-6 * wanted + fmin(0.1 * step, 1);
    int i = 0;
    if (!count || wanted < order[0].at - beyond || wanted > order[count - 1].at + beyond) return 0;
    while (i < count && order[i].at < wanted) i++;
    if (i == 0 || i == count) {
        *place = whole_row(order[i ? count - 1 : 0].row);
        return 1;
    }
    place->low = order[i - 1].row;
    place->high = order[i].row;
    place->share = (wanted - order[i - 1].at) / (order[i].at - order[i - 1].at);
    if (place->share >= 1) *place = whole_row(place->high);
    return 1;
}

/* The rows of a table by detector, each in the order of wavelengths. */
typedef struct row_runs {
    wave_runs runs;
    row_order *order;
    int *first; /* of each run within order; one more at the end */
} row_runs;

static row_runs order_rows(table *t, const double *list) {
    row_runs o;
    int r, run, at = 0;
    o.runs = find_runs(list, t->rows);
    if (is_shuffled(&o.runs, list, t->rows)) {
        memset(o.runs.of, 0, (size_t)t->rows * sizeof(int));
        o.runs.count = 1;
    }
    o.order = ALLOCATE(row_order, t->rows);
    o.first = ALLOCATE(int, o.runs.count + 1);
    for (run = 0; run < o.runs.count; run++) {
        o.first[run] = at;
        for (r = 0; r < t->rows; r++) {
            if (o.runs.of[r] != run) continue;
            o.order[at].at = list[r];
            o.order[at++].row = r;
        }
        qsort(o.order + o.first[run], (size_t)(at - o.first[run]), sizeof *o.order, by_wavelength);
        merge_rows(t, o.order + o.first[run], at - o.first[run]);
    }
    o.first[o.runs.count] = at;
    return o;
}

/* Returns the only row with this wavelength; -1: no row or several rows. */
static int only_row_of(const row_runs *rows, double wanted) {
    const int count = rows->first[rows->runs.count];
    int i, row = -1;
    for (i = 0; i < count; i++) {
        if (!same_wavelength(rows->order[i].at, wanted, 0)) continue;
        if (row >= 0) return -1;
        row = rows->order[i].row;
    }
    return row;
}

/* The rows of the detector that has most in common with that of the band, of those that reach it. */
static int place_by_detector(const row_runs *rows, const double *likeness, double wanted, double step, row_place *place) {
    row_place here;
    double best = -1;
    int run, row;
    for (run = 0; run < rows->runs.count; run++) {
        int first = rows->first[run], count = rows->first[run + 1] - first;
        if (likeness[run] <= best || !place_among(rows->order + first, count, wanted, step, &here)) continue;
        best = likeness[run];
        *place = here;
    }
    row = only_row_of(rows, wanted);
    if (row >= 0 && (best < 0 || place->low != place->high)) { /* measured there, which goes before what lies between two rows */
        *place = whole_row(row);
        best = 0;
    }
    return best >= 0;
}

/* How much each detector of the table has in common with one of the cube; the one of the same number goes before, where they
   are as many. */
static void compare_detectors(const row_runs *rows, const double *list, int count, const wave_runs *bands, const double *all,
                              int band_count, int detector, double *likeness) {
    double ends[2], others[2];
    int run;
    run_ends(bands, all, band_count, detector, ends);
    for (run = 0; run < rows->runs.count; run++) {
        run_ends(&rows->runs, list, count, run, others);
        likeness[run] = common_share(ends, others);
        if (bands->count == rows->runs.count && run == detector) likeness[run] += 2;
    }
}

/* The median. The list is sorted. */
static double usual_of(int n, double *list) {
    qsort(list, (size_t)n, sizeof *list, ascending);
    return list[(n - 1) / 2];
}

/* The usual distance of bands side by side. */
static double usual_step(int n, const double *x) {
    double *steps, step;
    int i;
    if (n < 2) return 0;
    steps = ALLOCATE(double, n);
    for (i = 0; i + 1 < n; i++) steps[i] = x[i + 1] - x[i];
    step = usual_of(n - 1, steps);
    free(steps);
    return step;
}

/* Different wavelengths of `count` ascending rows. Returns how many there are. */
static int different_wavelengths(const row_order *order, int count, double *to) {
    int i, different = 0;
    for (i = 0; i < count; i++)
        if (!different || order[i].at > to[different - 1]) to[different++] = order[i].at;
    return different;
}

/* Whether both ends lie in, or little beyond, a window of water vapour, which libraries of field spectrometers lack. */
static int is_water_gap(double low, double high) {
    const double beyond = 60;
    return (low > 1340 - beyond && high < 1450 + beyond) || (low > 1790 - beyond && high < 1970 + beyond);
}

/* A gap between two rows of one detector: they stand farther apart than the rows around them do. */
typedef struct row_gap {
    double low, high, usual; /* wavelengths of its ends; the usual step around it */
    int run;
} row_gap;

/* Nothing was measured in a gap, and a straight line across it would invent the bands within it. Where rows are coarser than
   bands, all bands are interpolated, and a gap tells less. */
static void look_into_gap(const job *j, const table *t, const row_runs *rows, const row_gap *gap, const double *all,
                          const row_place *places) {
    const double low = gap->low, high = gap->high;
    int i, count = 0, first = 0, last = 0;
    for (i = 0; i < j->cube.band_count; i++) {
        const double at = all[j->bands[i]];
        if (!(places[i].share > 0) || at <= low || at >= high || rows->runs.of[places[i].low] != gap->run) continue;
        if (!count) first = j->bands[i] + 1;
        last = j->bands[i] + 1;
        count++;
    }
    if (count < 2) return;
    if (is_water_gap(low, high) || gap->usual * count > 1.5 * (high - low)) {
        warn("%s: wavelength: no rows between %.6g and %.6g nm, where %d bands in use lie (%d to %d of %s): they are interpolated "
             "across this gap; --bands or --bbl leaves them out",
             t->name, low, high, count, first, last, j->in.header_name);
        return;
    }
    fail(EXIT_ERROR,
         "%s: wavelength: no rows between %.6g and %.6g nm, where %d bands in use lie (%d to %d of %s), and its rows are %.3g nm "
         "apart: --bands or --bbl leaves these bands out",
         t->name, low, high, count, first, last, j->in.header_name, gap->usual);
}

/* Looks for gaps: steps between rows that are far wider than the steps on either side. A side with few rows is no measure. */
static void look_for_gaps(const job *j, const table *t, const row_runs *rows, const double *all, const row_place *places) {
    enum { FEWEST = 4, NEARBY = 9 };
    double *at = ALLOCATE(double, t->rows);
    row_gap gap;
    int i;
    for (gap.run = 0; gap.run < rows->runs.count; gap.run++) {
        const int first = rows->first[gap.run];
        const int count = different_wavelengths(rows->order + first, rows->first[gap.run + 1] - first, at);
        for (i = 1; i < count; i++) {
            const int below = smaller(i, NEARBY), above = smaller(count - i, NEARBY);
            gap.low = at[i - 1];
            gap.high = at[i];
            gap.usual = 0;
            if (below >= FEWEST) gap.usual = usual_step(below, at + i - below);
            if (above >= FEWEST) gap.usual = fmax(gap.usual, usual_step(above, at + i));
            if (gap.usual > 0 && gap.high - gap.low > 3 * gap.usual) look_into_gap(j, t, rows, &gap, all, places);
        }
    }
    free(at);
}

/* Sorts the wavelengths and returns their usual step. */
static double sorted_step(int n, double *x) {
    qsort(x, (size_t)n, sizeof *x, ascending);
    return usual_step(n, x);
}

/* Says it where rows are finer than bands, and bands far wider than rows are apart: the sensor sees means of such rows. list:
   the wavelengths of the rows. */
static void compare_widths(const job *j, const table *t, const double *list) {
    const int used = j->cube.band_count;
    double *all = bands_in_nanometres(&j->in, NULL, j->in.bands), *widths = widths_in_nanometres(&j->in, all);
    double *rows = ALLOCATE(double, t->rows), *wide = ALLOCATE(double, used), low = HUGE_VAL, high = 0, width, step;
    int i, count = 0;
    for (i = 0; i < used && widths; i++) {
        low = fmin(low, all[j->bands[i]]);
        high = fmax(high, all[j->bands[i]]);
        wide[i] = widths[j->bands[i]];
    }
    for (i = 0; i < t->rows; i++)
        if (list[i] >= low && list[i] <= high) rows[count++] = list[i];
    step = sorted_step(count, rows);
    width = usual_of(used, wide);
    if (step > 0 && width > 2 * step && width < high - low && sorted_step(j->in.bands, all) > 1.5 * step)
        printf("%s: rows %.3g nm apart, bands of %s %.3g nm wide: 'spectra %s OUT.csv --resample %s' makes spectra as the sensor "
               "sees them\n",
               t->name, step, j->in.header_name, width, t->name, j->in.header_name);
    free(all);
    free(widths);
    free(rows);
    free(wide);
}

/* Linear between the rows around each band. */
static void place_between(const job *j, table *t, const double *list, row_place *places) {
    const cube_file *in = &j->in;
    row_runs rows = order_rows(t, list);
    double *all = bands_in_nanometres(in, NULL, in->bands), *likeness = ALLOCATE(double, rows.runs.count);
    double step = mean_step(list, t->rows), low = list[0], high = list[0];
    wave_runs bands = find_runs(all, in->bands);
    int i, r;
    for (r = 0; r < t->rows; r++) {
        low = fmin(low, list[r]);
        high = fmax(high, list[r]);
    }
    for (i = 0; i < j->cube.band_count; i++) {
        int band = j->bands[i];
        compare_detectors(&rows, list, t->rows, &bands, all, in->bands, bands.of[band], likeness);
        if (!place_by_detector(&rows, likeness, all[band], step, places + i))
            fail(EXIT_ERROR, "%s: wavelength: the table does not reach %.6g nm, band %d of %s: it has %.6g to %.6g nm (%s)",
                 t->name, all[band], band + 1, in->header_name, low, high, t->unit->name);
    }
    look_for_gaps(j, t, &rows, all, places);
    free(rows.runs.of);
    free(rows.order);
    free(rows.first);
    free(bands.of);
    free(likeness);
    free(all);
}

/* Finds rows with the wavelengths of all bands, or of the bands in use, in the same order. */
static int place_same(const job *j, const table *t, const double *list, row_place *places) {
    const cube_file *in = &j->in;
    int used = j->cube.band_count, *found = ALLOCATE(int, in->bands), i, same = 0;
    double *all = bands_in_nanometres(in, NULL, in->bands), *wanted = bands_in_nanometres(in, j->bands, used);
    if (t->rows == in->bands && find_in_order(all, in->bands, list, t->rows, found)) {
        for (i = 0; i < used; i++) places[i] = whole_row(j->bands[i]);
        same = 1;
    } else if (find_in_order(wanted, used, list, t->rows, found)) {
        for (i = 0; i < used; i++) places[i] = whole_row(found[i]);
        same = 1;
    }
    free(found);
    free(all);
    free(wanted);
    return same;
}

/* By wavelength, in nanometres. */
static void place_by_wavelength(const job *j, table *t, row_place *places) {
    double *list = table_column(t, t->wavelengths);
    int r;
    for (r = 0; r < t->rows; r++)
        if (!(list[r] > 0)) fail(EXIT_ERROR, "%s: wavelength: row %d has none", t->name, r + 1);
    if (!t->unit) {
        if (is_cubes_list(j, list, t->rows)) t->unit = unit_of(&j->in);
        else t->unit = unit_that_reaches(j, NULL, list, t->rows);
        if (!t->unit) t->unit = unit_of(&j->in);
        if (t->unit != unit_of(&j->in)) printf("%s: wavelength: taken to be in %s\n", t->name, t->unit->name);
    }
    for (r = 0; r < t->rows; r++) list[r] = to_nanometres(t->unit, list[r]);
    if (!place_same(j, t, list, places)) place_between(j, t, list, places);
    compare_widths(j, t, list);
    free(list);
}

static void fail_for_rows(const job *j, const table *t) {
    const int bands = j->in.bands, turned = t->columns >= bands && t->columns <= bands + 1;
    const char *advice = "";
    if (turned) advice = ". Has it a spectrum in each row? A table has a row for each band";
    if (begins_with(heading_of(t, 0), "splib07"))
        advice = ". USGS splib07 has wavelengths in a file of their own: paste -d, WAVELENGTHS.txt SPECTRUM.txt makes a table of "
                 "both";
    fail(EXIT_ERROR, "%s: rows: %d, but %s has %d bands, of which %d are in use%s", t->name, t->rows, j->in.header_name, bands,
         j->cube.band_count, advice);
}

/* Assigns row i to band i: of all bands, or of the bands in use. */
static void place_by_row(const job *j, const table *t, row_place *places) {
    int used = j->cube.band_count, every = t->rows == j->in.bands, i;
    if (t->rows < j->in.bands && t->rows + t->dropped >= j->in.bands)
        fail(EXIT_ERROR,
             "%s: rows: %d with a cell, %d without, but %s has %d bands: which of them are the rows? Write nan where a band "
             "has no value, and delete other empty rows",
             t->name, t->rows, t->dropped, j->in.header_name, j->in.bands);
    if (!every && t->rows != used) fail_for_rows(j, t);
    for (i = 0; i < used; i++) places[i] = whole_row(every ? j->bands[i] : i);
}

/* Refuses a table whose rows stand in another order than their numbers, unless every band has a number. */
static void check_numbers(const job *j, const table *t) {
    const int column = t->band_numbers;
    if (names_bands(heading_of(t, column)) || (t->rows == j->in.bands && numbers_all_rows(t, column))) return;
    fail(EXIT_ERROR,
         "%s: %s numbers rows that stand in another order: it has %d rows, %g to %g, and %s has %d bands. Put the rows in the order "
         "of the bands, or call the column band",
         t->name, column_name(t, column), t->rows, least_of_column(t, column), most_of_column(t, column), j->in.header_name,
         j->in.bands);
}

/* By a column of band numbers in any order. They count from 0 if a row is numbered 0, else from 1. */
static void place_by_number(const job *j, const table *t, row_place *places) {
    const int column = t->band_numbers;
    const double least = least_of_column(t, column), greatest = most_of_column(t, column);
    const int first = !(least < 1);
    int *row_after, i; /* of each band: 1 + its row; 0: it has none */
    check_numbers(j, t);
    if (t->rows < j->cube.band_count) fail_for_rows(j, t);
    row_after = ALLOCATE(int, j->in.bands);
    for (i = t->rows; i > 0; i--) {
        const double band = table_value(t, i - 1, column) - first;
        if (is_whole(band) && band < j->in.bands) row_after[(int)band] = i;
    }
    for (i = 0; i < j->cube.band_count; i++) {
        const int number = j->bands[i] + first, row = row_after[j->bands[i]] - 1;
        if (row < 0)
            fail(EXIT_ERROR,
                 "%s: %s: no row is numbered %d, which is band %d of %s, and in use: it has %d rows, %g to %g. If they number "
                 "something else, call the column row",
                 t->name, column_name(t, column), number, j->bands[i] + 1, j->in.header_name, t->rows, least, greatest);
        places[i] = whole_row(row);
    }
    free(row_after);
}

/* Beside a cube without wavelengths rows are taken in their order, which must then be that of wavelengths, perhaps of several
   detectors. */
static void refuse_other_order(const job *j, const table *t) {
    double *list = table_column(t, t->wavelengths);
    const double first = list[0], last = list[t->rows - 1];
    wave_runs runs;
    int ascends = 1, r;
    for (r = 0; r < t->rows && t->unit; r++) list[r] = to_nanometres(t->unit, list[r]);
    for (r = 0; r < t->rows && ascends; r++) ascends = list[r] > 0;
    runs = find_runs(list, t->rows);
    ascends = ascends && !(list[t->rows - 1] < list[0]) && !descends(list, t->rows) && !is_shuffled(&runs, list, t->rows);
    free(runs.of);
    free(list);
    if (!ascends)
        fail(EXIT_ERROR,
             "%s: wavelength: rows from %.6g to %.6g do not ascend, and %s: wavelength: %s: put the rows in the order of the "
             "bands, or number them in a column `band`",
             t->name, first, last, j->in.header_name, wavelengths_missing(&j->in));
}

/* Finds the row of each band in use: by wavelength, by a column of band numbers, or by the order of the rows. */
static void place_rows(const job *j, table *t, row_place *places) {
    const int stated = t->wavelengths >= 0;
    if (stated && has_wavelengths(&j->in)) place_by_wavelength(j, t, places);
    else if (t->band_numbers >= 0) place_by_number(j, t, places);
    else {
        place_by_row(j, t, places);
        if (!stated) return;
        refuse_other_order(j, t);
        warn("%s: rows are taken for bands in their order, not by wavelength: %s: wavelength: %s", t->name, j->in.header_name,
             wavelengths_missing(&j->in));
    }
}

/* ---- scale -------------------------------------------------------------------------------------------------------- */

enum direction { TO_STORED, TO_REFLECTANCE };

/* reflectance = gain * (value as the cube stores it) + bias. */
static void convert_spectra(const job *j, spectra *s, const double *gain, const double *bias, enum direction to) {
    int used = j->cube.band_count, i, k;
    for (k = 0; k < s->count; k++)
        for (i = 0; i < used; i++) {
            const int band = j->bands[i];
            shs_wide *value = s->values + element_at(k, used, i);
            double number = (double)*value;
            if (to == TO_STORED) number = (number - bias[band]) / gain[band];
            else number = number * gain[band] + bias[band];
            *value = (shs_wide)number;
        }
}

static void divide_spectra(const job *j, spectra *s, double by) {
    size_t i, count = (size_t)s->count * (size_t)j->cube.band_count;
    for (i = 0; i < count; i++) s->values[i] /= (shs_wide)by;
}

static double most_of_spectra(const job *j, const spectra *s) {
    size_t i, count = (size_t)s->count * (size_t)j->cube.band_count;
    double most = 0;
    for (i = 0; i < count; i++) most = fmax(most, fabs((double)s->values[i]));
    return most;
}

static void refuse_factor(const table *t, double most) {
    if (t->factor >= 100 && most > 0 && most <= most_reflectance)
        fail(EXIT_ERROR, "%s: reflectance scale factor: %.6g, but its spectra reach %.4g only: one of the two is wrong",
             t->name, t->factor, most);
}

/* The header of the library states a scale factor. Divided by the factor, the values are reflectance. */
static void scale_stated(const job *j, const table *t, spectra *s, const double *gain, const double *bias) {
    refuse_factor(t, most_of_spectra(j, s));
    if (!gain && !j->in.scale.reflectance) {
        double typical = typical_value(j);
        const int reflectances = typical > 0 && typical <= most_reflectance;
        if (t->factor < 20 || !reflectances) {
            if (!reflectances || t->factor > 1 || t->factor < 1)
                printf("%s: spectra are taken as they are, reflectance x %.6g: %s states no factor\n", t->name, t->factor,
                       j->in.header_name);
            return;
        }
        printf("%s: spectra are divided by %.6g, its reflectance scale factor: the pixels are reflectances\n", t->name,
               t->factor);
    } else if (t->factor > 1 || t->factor < 1)
        printf("%s: spectra are divided by %.6g, its reflectance scale factor\n", t->name, t->factor);
    divide_spectra(j, s, t->factor);
    if (!gain) return;
    convert_spectra(j, s, gain, bias, TO_STORED);
    printf("%s: reflectances are scaled as %s states its pixels to be\n", t->name, j->in.header_name);
}

/* Nothing says what the spectra are but their size. gain: of the cube's header. */
static void scale_by_size(const job *j, const table *t, spectra *s, const double *gain, const double *bias) {
    double most = most_of_spectra(j, s), factor = largest_factor(j, gain);
    int percent = most > most_reflectance && most <= most_percent && factor >= 1000;
    if (factor < 20 || !(most > 0)) return;
    if (j->in.scale.reflectance) {
        if (most <= most_reflectance) return;
        if (percent)
            fail(EXIT_ERROR, "%s: its spectra reach %.4g: neither reflectances nor values x %.6g, as %s states; percent?",
                 t->name, most, factor, j->in.header_name);
        convert_spectra(j, s, gain, bias, TO_REFLECTANCE);
        printf("%s: spectra reach %.6g: they are scaled to reflectance, as %s states\n", t->name, most, j->in.header_name);
        return;
    }
    if (percent) {
        warn("%s: its spectra reach %.4g only, and %s states values x %.6g: they are taken as they are; percent?", t->name,
             most, j->in.header_name, factor);
        return;
    }
    if (most > most_reflectance) return;
    convert_spectra(j, s, gain, bias, TO_STORED);
    printf("%s: spectra reach %.4g: reflectances, which are scaled as %s states its pixels to be (x %.6g)\n", t->name, most,
           j->in.header_name, factor);
}

/* Whether results stay the same where a spectrum is multiplied by a number: of published ones only angles are told. */
static int minds_shape_alone(const job *j, const table *t) {
    static const char *const methods[] = {"sam", "sid", "sidsam", "amsd"};
    if (t->name == j->s->unmix.published) return 1;
    if (j->mode != DETECT) return 0;
    return (j->s->unmix.library && !j->s->method) || is_one_of(or_empty(j->s->method), WITH_COUNT(methods));
}

/* The spectra may be in the unit to which gains and offsets lead. A stated factor of reflectance says which unit they are in,
   but for offsets. `auto` has made its own of the pixels. */
static void warn_of_units(const job *j, const table *t, int stated) {
    int minds = MINDS_ALL;
    char *why;
    if (part_folder && begins_with(t->name, part_folder)) return;
    if (stated || minds_shape_alone(j, t)) minds &= ~MINDS_GAINS;
    why = in_line("pixels are compared as they are stored with the spectra of", t->name);
    warn_of_scale(j, minds, why);
    free(why);
}

/* Says it where spectra are far brighter or darker than any material of the scene can be: angles alone do not mind. */
static void compare_sizes(const job *j, const table *t, const spectra *s) {
    size_t i, count = (size_t)s->count * (size_t)j->cube.band_count;
    double mean = 0, typical;
    if (j->mode == DETECT && j->s->method && !strcmp(j->s->method, "sam")) return;
    for (i = 0; i < count; i++) mean += fabs((double)s->values[i]) / (double)count;
    typical = typical_value(j);
    if (!(mean > 0) || !(typical > 0) || (mean < 60 * typical && mean > typical / 60)) return;
    warn("%s: its spectra are about %.4g, the pixels of %s about %.4g: are both in one unit? %s", t->name, mean,
         j->in.header_name, typical, way_to_unit(&j->in));
}

/* Brings spectra to the scale of the pixels, as far as headers state both. */
static void scale_spectra(const job *j, const table *t, spectra *s) {
    const cube_file *in = &j->in;
    double *gain = NULL, *bias = NULL;
    int stated = 0;
    if (t->name == j->s->unmix.published) {
        warn_of_units(j, t, 0);
        return;
    }
    if (!in->scale.gain || in->scale.reflectance) stated = reflectance_scale(in, &gain, &bias);
    if (stated && !in->scale.reflectance) refuse_reflectances(j, gain);
    if (t->factor > 0) scale_stated(j, t, s, in->scale.reflectance ? NULL : gain, bias);
    else if (stated) scale_by_size(j, t, s, gain, bias);
    warn_of_units(j, t, stated);
    compare_sizes(j, t, s);
    free(gain);
    free(bias);
}

/* ---- the spectra -------------------------------------------------------------------------------------------------- */

static double placed_value(const table *t, row_place place, int column) {
    double low = table_value(t, place.low, column);
    if (place.share <= 0) return low;
    return low + (table_value(t, place.high, column) - low) * place.share;
}

/* The bands in use of a column; the number of the first band that is missing in it, or 0. */
static int take_column(const job *j, const table *t, const row_place *places, int column, shs_wide *to) {
    int i;
    for (i = 0; i < j->cube.band_count; i++) {
        double value = placed_value(t, places[i], column);
        if (isnan(value)) return j->bands[i] + 1;
        to[i] = (shs_wide)value;
    }
    return 0;
}

/* Commas and braces would end a name in a header. */
static char *name_for_header(const char *name) {
    char *copy = joined(name ? name : "", "");
    size_t i;
    for (i = 0; copy[i]; i++) {
        if (copy[i] == ',') copy[i] = ';';
        if (copy[i] == '{') copy[i] = '(';
        if (copy[i] == '}') copy[i] = ')';
    }
    return copy;
}

static spectra spectra_from_table(const job *j, const char *name) {
    int library = names_envi(name), used = j->cube.band_count, c, missing, gaps = 0, number = 0;
    table t = library ? library_read(name) : table_read(j, name);
    row_place *places = ALLOCATE(row_place, used);
    spectra s = SHS_ZERO;
    if (!library) classify_columns(j, &t);
    if (t.wavelengths >= 0 && !has_wavelengths(&j->in) && t.band_numbers < 0 && !library && t.rows != j->in.bands && t.rows != used)
        fail(EXIT_ERROR, "%s: wavelength: %s, and %s needs it", j->in.header_name, wavelengths_missing(&j->in), name);
    place_rows(j, &t, places);
    s.names = ALLOCATE(char *, t.columns);
    s.values = (shs_wide *)allocate((size_t)used * (size_t)t.columns, sizeof(shs_wide));
    s.number = ALLOCATE(int, t.columns);
    for (c = 0; c < t.columns; c++) {
        if (c == t.wavelengths || t.left_out[c]) continue;
        number++;
        missing = take_column(j, &t, places, c, s.values + (size_t)s.count * (size_t)used);
        if (missing) {
            warn("%s: %s is missing in band %d, which is in use: this spectrum is left out", name, column_name(&t, c), missing);
            gaps++;
            continue;
        }
        s.number[s.count] = number;
        s.names[s.count++] = name_for_header(t.names[c]);
    }
    if (!s.count) fail(EXIT_ERROR, "%s: none of %d spectra has all bands in use", name, gaps);
    scale_spectra(j, &t, &s);
    free(places);
    table_free(&t);
    return s;
}

#endif /* HYPERCUBE_TABLES */
