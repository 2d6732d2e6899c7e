/* Written by train/train.py with the model: the score above which a row is suspect, and how many in a row
 * are an alarm. */
#define THRESHOLD 5580
#define ALARM_ROWS 3
