/* SPDX-License-Identifier: MIT */
#include "options.h"

/* The value of `--name=VALUE`; one line end behind it is not part of it. */
static bool option_value(const char *argument, const char *name, struct span *value)
{
	size_t length = strlen(name);

	if (strncmp(argument, name, length) != 0)
		return false;
	*value = (struct span){ argument + length, strlen(argument + length) };
	if (value->length > 0 && span_end(*value)[-1] == '\n')
		value->length--;
	return true;
}

static bool parse_size(struct span value, unsigned *size)
{
	struct number n = number_parse(value);

	if (value.length == 0 || span_digits(value) != value.length || n.kind != NUMBER_INTEGER ||
	    n.magnitude < GRAPH_SIZE_MIN || n.magnitude > GRAPH_SIZE_MAX)
		return false;
	*size = (unsigned)n.magnitude;
	return true;
}

/* Digits and dots, of which the longest numeric prefix counts, and perhaps a `%`. */
static bool parse_threshold(struct span value, struct number *threshold)
{
	if (value.length > 0 && span_end(value)[-1] == '%')
		value.length--;
	for (size_t i = 0; i < value.length; i++)
		if (!byte_is_digit(value.start[i]) && value.start[i] != '.')
			return false;
	*threshold = number_parse(value);
	return value.length > 0 && number_real(*threshold) >= 0 && number_real(*threshold) <= 100;
}

static enum options_result parse_option(struct options *options, const char *argument)
{
	struct span value;
	bool good = false;

	if (strcmp(argument, "--version") == 0)
		return OPTIONS_VERSION;
	if (option_value(argument, "--threshold=", &value))
		good = parse_threshold(value, &options->threshold);
	else if (option_value(argument, "--x=", &value))
		good = parse_size(value, &options->size.columns);
	else if (option_value(argument, "--y=", &value))
		good = parse_size(value, &options->size.rows);
	return good ? OPTIONS_OK : OPTIONS_USAGE;
}

enum options_result options_parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){ .size = { .columns = 72, .rows = 20 },
				     .threshold = number_from_integer(1) };
	for (int i = 1; i < argc; i++) {
		enum options_result result = OPTIONS_OK;

		if (argv[i][0] == '-')
			result = parse_option(options, argv[i]);
		else if (!options->input)
			options->input = argv[i];
		if (result != OPTIONS_OK)
			return result;
	}
	return options->input ? OPTIONS_OK : OPTIONS_USAGE;
}
