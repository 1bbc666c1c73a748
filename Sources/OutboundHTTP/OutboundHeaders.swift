/// Header fields in the order they arrived, looked up without regard to case.
package struct OutboundHeaders: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let name: String
        /// The value as transmitted, whatever its encoding.
        package let bytes: [UInt8]

        package init(name: String, value: String) {
            self.init(name: name, bytes: Array(value.utf8))
        }

        package init(name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }

        /// The bytes decoded as UTF-8, or as ISO 8859-1 if they are not valid UTF-8.
        package var value: String {
            String(validating: bytes, as: UTF8.self)
                ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        }
    }

    package private(set) var fields: [Field]

    package init(_ fields: [(name: String, value: String)] = []) {
        self.fields = fields.map { Field(name: $0.name, value: $0.value) }
    }

    /// The value of the first field with this name.
    package subscript(name: String) -> String? {
        first(name)
    }

    package func first(_ name: String) -> String? {
        field(name)?.value
    }

    package func field(_ name: String) -> Field? {
        fields.first { $0.name.isEqualIgnoringCase(to: name) }
    }

    package func all(_ name: String) -> [String] {
        fields.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
    }

    mutating func append(_ field: Field) {
        fields.append(field)
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
