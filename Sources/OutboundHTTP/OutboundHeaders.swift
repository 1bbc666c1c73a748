/// Header fields in the order they arrived, looked up without regard to case.
package struct OutboundHeaders: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var fields: [Field]

    package init(_ fields: [(name: String, value: String)] = []) {
        self.fields = fields.map { Field(name: $0.name, value: $0.value) }
    }

    /// The first field of this name.
    package subscript(name: String) -> String? {
        first(name)
    }

    package func first(_ name: String) -> String? {
        fields.first { $0.name.isEqualIgnoringCase(to: name) }?.value
    }

    package func all(_ name: String) -> [String] {
        fields.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
    }

    package mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension StringProtocol {
    /// Compares ASCII letters without regard to case, as header names and schemes compare.
    func isEqualIgnoringCase(to other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0 == $1 || ($0.asciiLowercased == $1.asciiLowercased) }
    }
}

extension UInt8 {
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self + 32 : self
    }
}
