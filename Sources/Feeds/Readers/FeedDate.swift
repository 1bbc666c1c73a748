internal import FoundationEssentials

/// Reads the dates of feeds: RFC 3339 and W3CDTF, RFC 822, and what publishers write instead of them.
///
/// A scanner over bytes, since general formatters depend on the locale, differ between platforms and are slow.
enum FeedDate {
    /// Longest text looked at, in bytes.
    private static let maximumBytes = 128
    /// Generators write 1970, 1900 or year 1 for "no date".
    private static let years = 1971...9999

    /// `nil` when no date can be made out; the entry is kept then.
    static func parse(_ text: String) -> Date? { parse(Array(text.utf8)[...]) }

    static func parse(_ text: ArraySlice<UInt8>) -> Date? {
        var scanner = DateScanner(Array(text.drop { $0 <= 0x20 }.prefix(maximumBytes)))
        scanner.scan()
        if let seconds = scanner.unixSeconds { return Date(timeIntervalSince1970: Double(seconds)) }
        guard let (year, month, day) = scanner.date, years.contains(year), 1...12 ~= month, 1...31 ~= day else {
            return nil
        }
        let time = scanner.time
        guard 0...24 ~= time.hour, 0...59 ~= time.minute else { return nil }
        let lastDay = daysBeforeMonth(year, month + 1) - daysBeforeMonth(year, month)
        let days = daysBeforeMonth(year, month) + min(day, lastDay) - 1
        let seconds = days * 86_400 + time.hour * 3_600 + time.minute * 60 + min(time.second, 59) - scanner.offset
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// Days from 1970-01-01 to the first of a month; month 13 is the next January.
    private static func daysBeforeMonth(_ year: Int, _ month: Int) -> Int {
        // The year is made to begin in March, so that the leap day is its last.
        let monthFromMarch = (month + 9) % 12
        let shifted = year + (month - 1) / 12 - (monthFromMarch >= 10 ? 1 : 0)
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * monthFromMarch + 2) / 5 - 719_468
    }
}

/// Takes a date's text apart into numbers, names, a time and an offset, in whatever order they come.
struct DateScanner {
    private struct Number {
        let value: Int
        let digits: Int
        /// The byte behind it.
        let separator: UInt8
    }

    private let bytes: [UInt8]
    private var position = 0
    private var numbers: [Number] = []
    private var namedMonth: Int?
    private var isAfternoon: Bool?
    private var clock: (hour: Int, minute: Int, second: Int)?
    private var zone: Int?
    private var zoneIsUTC = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Seconds east of UTC.
    var offset: Int { zone ?? 0 }

    var time: (hour: Int, minute: Int, second: Int) {
        guard var time = clock else { return (0, 0, 0) }
        if isAfternoon == true, time.hour < 12 { time.hour += 12 }
        if isAfternoon == false, time.hour == 12 { time.hour = 0 }
        return time
    }

    /// Of a text that is one number: seconds since 1970, or milliseconds.
    var unixSeconds: Int? {
        guard numbers.count == 1, clock == nil, namedMonth == nil else { return nil }
        return switch numbers[0].digits {
        case 9...10: numbers[0].value
        case 12...13: numbers[0].value / 1_000
        default: nil
        }
    }

    var date: (year: Int, month: Int, day: Int)? {
        let parts = numbers.map(\.value)
        if let namedMonth {
            guard let first = numbers.first else { return nil }
            guard numbers.count > 1 else { return first.digits >= 3 ? (fullYear(first), namedMonth, 1) : nil }
            return first.digits >= 3
                ? (fullYear(first), namedMonth, parts[1]) : (fullYear(numbers[1]), namedMonth, parts[0])
        }
        switch numbers.count {
        case 1 where numbers[0].digits == 4: return (parts[0], 1, 1)
        case 1 where numbers[0].digits == 8: return (parts[0] / 10_000, parts[0] / 100 % 100, parts[0] % 100)
        case 2 where numbers[0].digits == 4: return (parts[0], parts[1], 1)
        case 3...:
            if numbers[0].digits == 4 { return (parts[0], parts[1], parts[2]) }
            if numbers[2].digits < 4, numbers[0].separator == 0x2D { return (fullYear(numbers[0]), parts[1], parts[2]) }
            let monthFirst = numbers[0].separator == 0x2F ? parts[0] <= 12 : parts[1] > 12
            return (fullYear(numbers[2]), monthFirst ? parts[0] : parts[1], monthFirst ? parts[1] : parts[0])
        default: return nil
        }
    }

    /// RFC 2822 §4.3.
    private func fullYear(_ number: Number) -> Int {
        switch (number.digits, number.value) {
        case (...2, 0...49): number.value + 2_000
        case (...3, _): number.value + 1_900
        default: number.value
        }
    }

    // MARK: Scanning

    mutating func scan() {
        while let byte = current {
            switch byte {
            case 0x28: skipComment()
            case 0x30...0x39: takeNumber()
            case 0x2B where startsOffset, 0x2D where startsOffset: takeOffset()
            case 0x41...0x5A, 0x61...0x7A, 0x80...: takeWord()
            default: position += 1
            }
        }
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func isDigit(_ offset: Int) -> Bool {
        position + offset < bytes.count && 0x30...0x39 ~= bytes[position + offset]
    }

    private var startsOffset: Bool { clock != nil && (zone == nil || zoneIsUTC) && isDigit(1) }

    private mutating func skipComment() {
        while let byte = current, byte != 0x29 { position += 1 }
        position += 1
    }

    private mutating func digits() -> (value: Int, count: Int) {
        let start = position
        var value = 0
        while isDigit(0) {
            if position - start < 15 { value = value * 10 + Int(bytes[position] - 0x30) }
            position += 1
        }
        return (value, position - start)
    }

    private mutating func takeNumber() {
        let followsT = position > 0 && bytes[position - 1] | 0x20 == 0x74 && !numbers.isEmpty
        let (value, count) = digits()
        if clock == nil, count <= 2, current == 0x3A { return takeClock(hour: value) }
        if clock == nil, followsT {
            switch count {
            case 6: return clock = (value / 10_000, value / 100 % 100, value % 100)
            case 4: return clock = (value / 100, value % 100, 0)
            case 1, 2: return clock = (value, 0, 0)
            default: break
            }
        }
        // A clock already read may be followed by its second form, or by the year, as in asctime.
        guard clock == nil || current != 0x3A else { return position += 1 }
        if numbers.count < 3 { numbers.append(Number(value: value, digits: count, separator: current ?? 0)) }
    }

    private mutating func takeClock(hour: Int) {
        position += 1
        let minute = digits().value
        var second = 0
        if current == 0x3A {
            position += 1
            second = digits().value
        }
        if current == 0x2E || current == 0x2C, isDigit(1) {
            position += 1
            _ = digits()
        }
        clock = (hour, minute, second)
    }

    private mutating func takeOffset() {
        let sign = bytes[position] == 0x2D ? -1 : 1
        position += 1
        let (value, count) = digits()
        var seconds = count <= 2 ? value * 3_600 : value / 100 * 3_600 + value % 100 * 60
        if count <= 2, current == 0x3A, isDigit(1) {
            position += 1
            seconds += digits().value * 60
        }
        zone = seconds <= 14 * 3_600 ? sign * seconds : 0
        zoneIsUTC = false
    }

    /// The words of most dates, which need no table.
    private mutating func takeUsualWord(_ word: ArraySlice<UInt8>) -> Bool {
        guard word.count == 3 || word.count == 1 else { return false }
        let letters = word.reduce(UInt32(0)) { $0 << 8 | UInt32($1 | 0x20) }
        if word.count == 1, letters == DateNames.t { return true }
        if let month = DateNames.englishMonths.firstIndex(of: letters) {
            namedMonth = month + 1
            return true
        }
        guard letters == DateNames.gmt, zone == nil, clock != nil else { return DateNames.weekdays.contains(letters) }
        zone = 0
        zoneIsUTC = true
        return true
    }

    private mutating func takeWord() {
        let start = position
        while let byte = current, 0x61...0x7A ~= byte | 0x20 || byte >= 0x80 { position += 1 }
        if takeUsualWord(bytes[start..<position]) { return }
        let word = String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
        if let month = DateNames.month(word) {
            namedMonth = month
        } else if let afternoon = DateNames.isAfternoon(word) {
            isAfternoon = afternoon
        } else if let seconds = DateNames.zone(word), zone == nil, clock != nil {
            zone = seconds
            zoneIsUTC = seconds == 0
        }
    }
}
