/* The fault of a plan and its session, and its stage, operator and tensor as text. */
#include "tigris.h"

const tigris_fault *tigris_fault_of(const tigris_plan *plan, const tigris_session *session)
{
    return plan->header == NULL ? &plan->fault : &session->fault;
}

/* Appends as much of `text` as fits before `end` with its final zero; returns the address of that zero. */
static char *append(char *at, const char *end, const char *text)
{
    while (*text != '\0' && at + 1 < end) {
        *at++ = *text++;
    }
    *at = '\0';
    return at;
}

static char *append_number(char *at, const char *end, uint32_t number)
{
    char digits[11];
    char *first = &digits[sizeof digits - 1U];
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10U);
        number /= 10U;
    } while (number != 0U);
    return append(at, end, first);
}

/* Appends ", what 12 (name)". No comma at the start of the text; no parentheses if `name` is NULL or empty. */
static char *append_place(char *at, const char *start, const char *end, const char *what, uint32_t index,
                          const char *name)
{
    if (index == TIGRIS_NOWHERE) {
        return at;
    }
    at = append(at, end, at == start ? "" : ", ");
    at = append_number(append(at, end, what), end, index);
    if (name != NULL && name[0] != '\0') {
        at = append(append(append(at, end, " ("), end, name), end, ")");
    }
    return at;
}

char *tigris_fault_text(const tigris_fault *fault, const tigris_plan *plan, char *text, size_t bytes)
{
    const char *op = NULL;
    const char *tensor = NULL;
    text[0] = '\0';
    if (fault->status == TIGRIS_OK) {
        return text;
    }
    if (plan != NULL && plan->header != NULL) {
        op = fault->op < plan->header->op_count ? plan->strings + plan->ops[fault->op].name : NULL;
        tensor = fault->tensor < plan->header->tensor_count ? plan->strings + plan->tensors[fault->tensor].name : NULL;
    }
    char *at = append_place(text, text, text + bytes, "stage ", fault->stage, NULL);
    at = append_place(at, text, text + bytes, "operator ", fault->op, op);
    (void)append_place(at, text, text + bytes, "tensor ", fault->tensor, tensor);
    return text;
}
