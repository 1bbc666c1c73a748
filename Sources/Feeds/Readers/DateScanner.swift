/// Splits a date's text into numbers, names, a time and an offset, in any order.
struct DateScanner {
    /// The largest number of unknown words, such as `on`, `at` or a weekday in another language; a text with more is a
    /// sentence.
    private static let maximumUnknownWords = 5
    /// Times in seconds since 1970 in the years 2001 to 2286.
    private static let unixSeconds = 1_000_000_000..<10_000_000_000

    private struct Number {
        let value: Int
        let digits: Int
        /// The byte that follows the number.
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
    private var unknownWords = 0
    /// False after a part that dates do not contain, such as the `v` in `v1.2.34`.
    private var isDate = true
    /// True for a zone such as `ET`, which includes summer time while it applies in the United States.
    private(set) var isAmerican = false
    /// A name of the zone database behind a time, such as `Europe/Berlin`, if there is no offset.
    private(set) var zoneName: String?
    /// An ISO week date, such as `2026-W10-1`, `2026W101` or `2026-W10`.
    private(set) var week: (year: Int, week: Int, day: Int)?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The offset in seconds east of UTC.
    var offset: Int { zone ?? 0 }

    var time: (hour: Int, minute: Int, second: Int) {
        guard var time = clock else { return (0, 0, 0) }
        if isAfternoon == true, time.hour < 12 { time.hour += 12 }
        if isAfternoon == false, time.hour == 12 { time.hour = 0 }
        return time
    }

    /// The time in seconds since 1970, for a text that is only a number of seconds or milliseconds.
    var unixSeconds: Int? {
        guard isDate, numbers.count == 1, clock == nil, namedMonth == nil, unknownWords == 0 else { return nil }
        let seconds = numbers[0].digits == 13 ? numbers[0].value / 1_000 : numbers[0].value
        return Self.unixSeconds ~= seconds ? seconds : nil
    }

    var date: (year: Int, month: Int, day: Int)? {
        guard isDate, week == nil, unknownWords <= Self.maximumUnknownWords, let first = numbers.first else {
            return nil
        }
        guard numbers.count < 3 else { return fullDate }
        // A year or month alone is a date only if the text contains nothing else.
        guard numbers.count == 2 && namedMonth != nil || unknownWords == 0 else { return nil }
        let parts = numbers.map(\.value)
        switch (numbers.count, namedMonth) {
        case (1, let month?): return first.digits >= 3 ? (fullYear(first), month, 1) : nil
        case (_, .some): return fullDate
        case (1, nil) where first.digits == 4: return (parts[0], 1, 1)
        case (1, nil) where first.digits == 8: return (parts[0] / 10_000, parts[0] / 100 % 100, parts[0] % 100)
        case (2, nil) where first.digits == 4 && first.separator > 0x20: return (parts[0], parts[1], 1)
        default: return nil
        }
    }

    private var fullDate: (year: Int, month: Int, day: Int)? {
        let parts = numbers.map(\.value)
        if let namedMonth {
            let (year, day) = numbers[0].digits >= 3 ? (numbers[0], parts[1]) : (numbers[1], parts[0])
            return year.digits >= 2 ? (fullYear(year), namedMonth, day) : nil
        }
        if numbers[0].digits == 4 { return (parts[0], parts[1], parts[2]) }
        if numbers[2].digits < 4, numbers[0].separator == 0x2D {
            return numbers[0].digits >= 2 ? (fullYear(numbers[0]), parts[1], parts[2]) : nil
        }
        guard numbers[2].digits >= 2 else { return nil }
        let monthFirst = numbers[0].separator == 0x2F ? parts[0] <= 12 : parts[1] > 12
        return (fullYear(numbers[2]), monthFirst ? parts[0] : parts[1], monthFirst ? parts[1] : parts[0])
    }

    /// The full year of a short one (RFC 2822 §4.3).
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
            case 0x57 where startsWeek, 0x77 where startsWeek: takeWeek()
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

    private var startsWeek: Bool {
        numbers.count == 1 && numbers[0].digits == 4 && clock == nil && isDigit(1) && isDigit(2)
    }

    private mutating func takeWeek() {
        position += 1
        let (value, count) = digits()
        var day = count == 3 ? value % 10 : 1
        if count == 2, current == 0x2D, isDigit(1) {
            position += 1
            day = digits().value
        }
        isDate = isDate && count <= 3
        week = (numbers[0].value, count == 3 ? value / 10 : value, isDate ? day : 0)
    }

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
        if numbers.isEmpty, clock == nil, count == 12 || count == 14 { return takeDateAndClock(value, count) }
        if clock == nil, count <= 2, current == 0x3A { return takeClock(hour: value) }
        if clock == nil, followsT {
            switch count {
            case 6: return clock = (value / 10_000, value / 100 % 100, value % 100)
            case 4: return clock = (value / 100, value % 100, 0)
            case 1, 2: return clock = (value, 0, 0)
            default: break
            }
        }
        // A time may be followed by another form of it, or by the year, as in asctime.
        guard clock == nil || current != 0x3A else { return position += 1 }
        // `10.0.12.1` is an IP address.
        if numbers.count == 3, clock == nil, namedMonth == nil, numbers.allSatisfy({ $0.digits < 4 }) { isDate = false }
        if numbers.count < 3 { numbers.append(Number(value: value, digits: count, separator: current ?? 0)) }
    }

    /// Reads `20260302090506`, or the same without seconds.
    private mutating func takeDateAndClock(_ value: Int, _ count: Int) {
        let time = count == 14 ? value % 1_000_000 : value % 10_000 * 100
        let date = value / (count == 14 ? 1_000_000 : 10_000)
        numbers = [Number(value: date, digits: 8, separator: 0)]
        clock = (time / 10_000, time / 100 % 100, time % 100)
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

    /// Reads the words of most dates, which need no table.
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
        if takeZoneName() { return }
        let start = position
        while let byte = current, 0x61...0x7A ~= byte | 0x20 || byte >= 0x80 { position += 1 }
        if takeUsualWord(bytes[start..<position]) { return }
        let word = DateNames.folded(bytes[start..<position])
        if let month = DateNames.month(word) {
            namedMonth = month
        } else if let afternoon = DateNames.isAfternoon(word) {
            isAfternoon = afternoon
        } else if clock != nil, word == "a" || word == "p", isDotM {
            isAfternoon = word == "p"
            position += 2
        } else if let seconds = DateNames.zone(word), clock != nil {
            guard zone == nil else { return }
            zone = seconds
            zoneIsUTC = seconds == 0
            isAmerican = DateNames.isAmerican(word)
        } else {
            takeUnknownWord(word)
        }
    }

    private mutating func takeZoneName() -> Bool {
        guard clock != nil else { return false }
        let name = bytes[position...].prefix { byte in
            0x61...0x7A ~= byte | 0x20 || 0x30...0x39 ~= byte || "/_-+".utf8.contains(byte)
        }
        guard name.count <= 64, name.contains(UInt8(ascii: "/")) else { return false }
        if zone == nil { zoneName = String(decoding: name, as: UTF8.self) }
        position = name.endIndex
        return true
    }

    /// True before the `.m` of `p.m.`.
    private var isDotM: Bool {
        position + 1 < bytes.count && bytes[position] == 0x2E && bytes[position + 1] | 0x20 == 0x6D
    }

    private mutating func takeUnknownWord(_ word: String) {
        guard !DateNames.isUnit(word) else { return }
        unknownWords += 1
        if isDigit(0), clock == nil, word.utf8.allSatisfy({ $0 < 0x80 }) { isDate = false }
    }
}
