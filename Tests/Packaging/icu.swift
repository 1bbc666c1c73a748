// Prints what the program gets from ICU's data, and what Foundation could get from it for the program.
// 'test_icu.py' compares the output with the toolchain's data and with what 'packaging/icu-data' leaves of it.
internal import _FoundationICU
import Foundation

for language in Locale.LanguageCode.isoLanguageCodes.map(\.identifier) where language.utf8.count == 2 {
    let names = ["en", language].map { Locale(identifier: $0).localizedString(forLanguageCode: language) ?? "-" }
    print("language", language, names)
}

let text = """
    Dr. Almi spricht z. B. mit Prof. Lee um 8 p.m. in St. Pölten. U.S. troops leave. „Ja!“ sagte er. M. Dupont, etc. Fin? \
    В г. Москве т. е. там. Κ. Παπαδόπουλος. これは文です。次の文。 นี่คือประโยค นี่อีกประโยค
    """
for language in ["en", "de", "fr", "es", "it", "pt", "ru", "el", "ja", "th", "tr"] {
    var (status, ends) = (U_ZERO_ERROR, [Int32]())
    let units = Array(text.utf16)
    units.withUnsafeBufferPointer { units in
        let sentences = swift_ubrk_open(
            UBRK_SENTENCE,
            "\(language)@ss=standard",
            units.baseAddress,
            Int32(units.count),
            &status
        )
        while case let end = swift_ubrk_next(sentences), end >= 0 { ends.append(end) }
        swift_ubrk_close(sentences)
    }
    print("sentences", language, status == U_ZERO_ERROR || status.rawValue < 0, ends)
}

let times = [-2_000_000_000, 0, 1_000_000_000, 1_774_746_000, 1_795_000_000, 4_000_000_000.0]
let dates = times.map(Date.init(timeIntervalSince1970:))
for name in TimeZone.knownTimeZoneIdentifiers.sorted() {
    guard let zone = TimeZone(identifier: name) else { continue }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let days = dates.map { calendar.component(.hour, from: $0) * 10 + calendar.component(.weekday, from: $0) }
    print(
        "zone",
        name,
        dates.map(zone.secondsFromGMT(for:)),
        days,
        zone.nextDaylightSavingTimeTransition(after: dates[4]) ?? .distantPast
    )
}
for date in dates {
    print("date", date.formatted(.iso8601), date.formatted(.iso8601.year().month().day()), "\(date)")
}
for host in ["bücher.example", "faß.example", "ΒΌΛΟΣ.example", "例え.テスト", "a‍b.example", "xn--bcher-kva.example"] {
    print(
        "host",
        URL(string: "https://\(host)/ä?ö")?.absoluteString ?? "-",
        URLComponents(string: "https://\(host)/")?.encodedHost ?? "-"
    )
}

var hash: UInt64 = 14_695_981_039_346_656_037
for value in UInt32(0)...0x2FFFF {
    guard let scalar = Unicode.Scalar(value) else { continue }
    let text = String(Character(scalar))
    for form in [
        text.precomposedStringWithCanonicalMapping, text.decomposedStringWithCanonicalMapping,
        text.precomposedStringWithCompatibilityMapping, text.decomposedStringWithCompatibilityMapping,
        text.lowercased(), text.uppercased(),
        text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil),
    ] {
        for byte in form.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
    }
}
print("characters", hash)
let words = ["Äpfel", "apfel", "Zebra", "äpfel", "a10", "a9", "Éclair", "eclair"]
print("order", words.sorted(), words.sorted { $0.localizedStandardCompare($1) == .orderedAscending })
print(
    "text",
    text.capitalized,
    String(format: "%5.2f %@ %05d", 3.14159, "x", 42),
    "ISTANBUL".lowercased(with: Locale(identifier: "tr"))
)
print(
    "locale",
    Locale.current.identifier,
    Locale(identifier: "de_AT").language.languageCode?.identifier ?? "-",
    Locale(identifier: "zh-Hant-TW").language.script?.identifier ?? "-"
)
print(
    "number",
    1_234_567.89.formatted(.number.locale(Locale(identifier: "en"))),
    dates[1].formatted(Date.FormatStyle(locale: Locale(identifier: "en"), timeZone: .gmt))
)
