#include "web_files.h"

// C23; clang takes it in earlier standards as an extension, with a warning.
#pragma clang diagnostic ignored "-Wc23-extensions"

#define BYTES(name) static const unsigned char name[] = {

BYTES(certificate_mustache)
#embed "files/certificate.mustache"
};
BYTES(chart_mustache)
#embed "files/chart.mustache"
};
BYTES(desk_js)
#embed "files/desk.js"
};
BYTES(devices_mustache)
#embed "files/devices.mustache"
};
BYTES(feeds_mustache)
#embed "files/feeds.mustache"
};
BYTES(icon_180_png)
#embed "files/icon-180.png"
};
BYTES(icon_512_png)
#embed "files/icon-512.png"
};
BYTES(icon_svg)
#embed "files/icon.svg"
};
BYTES(invitation_mustache)
#embed "files/invitation.mustache"
};
BYTES(layout_mustache)
#embed "files/layout.mustache"
};
BYTES(message_mustache)
#embed "files/message.mustache"
};
BYTES(notice_mustache)
#embed "files/notice.mustache"
};
BYTES(notify_js)
#embed "files/notify.js"
};
BYTES(notify_mustache)
#embed "files/notify.mustache"
};
BYTES(operator_enter_mustache)
#embed "files/operator-enter.mustache"
};
BYTES(operator_form_mustache)
#embed "files/operator-form.mustache"
};
BYTES(operator_nav_mustache)
#embed "files/operator-nav.mustache"
};
BYTES(operator_send_mustache)
#embed "files/operator-send.mustache"
};
BYTES(operator_js)
#embed "files/operator.js"
};
BYTES(operator_mustache)
#embed "files/operator.mustache"
};
BYTES(reader_js)
#embed "files/reader.js"
};
BYTES(reader_mustache)
#embed "files/reader.mustache"
};
BYTES(secure_mustache)
#embed "files/secure.mustache"
};
BYTES(send_mustache)
#embed "files/send.mustache"
};
BYTES(sign_in_mustache)
#embed "files/sign-in.mustache"
};
BYTES(style_css)
#embed "files/style.css"
};
BYTES(sw_js)
#embed "files/sw.js"
};
BYTES(words_de_json)
#embed "files/words.de.json"
};
BYTES(words_en_json)
#embed "files/words.en.json"
};

#define FILE(name, bytes) { name, bytes, sizeof bytes }

static const struct web_file files[] = {
    FILE("certificate.mustache", certificate_mustache),
    FILE("chart.mustache", chart_mustache),
    FILE("desk.js", desk_js),
    FILE("devices.mustache", devices_mustache),
    FILE("feeds.mustache", feeds_mustache),
    FILE("icon-180.png", icon_180_png),
    FILE("icon-512.png", icon_512_png),
    FILE("icon.svg", icon_svg),
    FILE("invitation.mustache", invitation_mustache),
    FILE("layout.mustache", layout_mustache),
    FILE("message.mustache", message_mustache),
    FILE("notice.mustache", notice_mustache),
    FILE("notify.js", notify_js),
    FILE("notify.mustache", notify_mustache),
    FILE("operator-enter.mustache", operator_enter_mustache),
    FILE("operator-form.mustache", operator_form_mustache),
    FILE("operator-nav.mustache", operator_nav_mustache),
    FILE("operator-send.mustache", operator_send_mustache),
    FILE("operator.js", operator_js),
    FILE("operator.mustache", operator_mustache),
    FILE("reader.js", reader_js),
    FILE("reader.mustache", reader_mustache),
    FILE("secure.mustache", secure_mustache),
    FILE("send.mustache", send_mustache),
    FILE("sign-in.mustache", sign_in_mustache),
    FILE("style.css", style_css),
    FILE("sw.js", sw_js),
    FILE("words.de.json", words_de_json),
    FILE("words.en.json", words_en_json),
};

size_t web_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_file web_file_at(size_t index) { return files[index]; }
