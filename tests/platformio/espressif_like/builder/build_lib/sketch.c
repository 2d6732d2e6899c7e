/* Stands for the project's sources while only the framework's libraries are built. */
void app_main(void);

void app_main(void) {}
