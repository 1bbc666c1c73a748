/// A number of one kind, such as the numbers that a store assigns to one kind of object, which the compiler distinguishes
/// from numbers of other kinds.
package protocol StoredNumber: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible,
    ExpressibleByIntegerLiteral
where RawValue == Int64, IntegerLiteralType == Int64 {
    init(rawValue: Int64)
}

extension StoredNumber {
    package init(integerLiteral value: Int64) { self.init(rawValue: value) }

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    package var description: String { "\(rawValue)" }
}
