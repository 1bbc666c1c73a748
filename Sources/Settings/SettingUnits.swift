/// Times and sizes as people write them: a whole number with a unit right after it.
package enum SettingUnits {
    /// Maximum number of digits: longer numbers are mistakes, and could overflow.
    private static let maximumDigits = 7
    /// Units from largest to smallest, so that a value is shown in its shortest form.
    private static let times: [(unit: String, factor: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)]
    private static let sizes: [(unit: String, factor: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
    ]

    package static func time(_ text: String) -> Duration? { number(text, times).map { .seconds($0) } }
    static func size(_ text: String) -> Int64? { number(text, sizes) }

    /// Returns whole seconds in the largest unit that divides them; days only from 7 on, because people write 72h.
    @Sendable static func time(_ time: Duration) -> String {
        let seconds = time.components.seconds
        let units = seconds < 7 * 86_400 ? times.dropFirst() : times[...]
        return text(seconds, Array(units), smallest: "s")
    }

    @Sendable static func size(_ bytes: Int64) -> String { text(bytes, sizes, smallest: "") }

    private static func number(_ text: String, _ units: [(unit: String, factor: Int64)]) -> Int64? {
        guard let unit = units.first(where: { text.hasSuffix($0.unit) }) else { return nil }
        let digits = text.dropLast(unit.unit.count)
        guard !digits.isEmpty, digits.count <= maximumDigits, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let number = Int64(digits)
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        return overflow ? nil : product
    }

    private static func text(_ value: Int64, _ units: [(unit: String, factor: Int64)], smallest: String) -> String {
        guard value != 0, let unit = units.first(where: { value % $0.factor == 0 }) else {
            return "\(value)\(smallest)"
        }
        return "\(value / unit.factor)\(unit.unit)"
    }
}
