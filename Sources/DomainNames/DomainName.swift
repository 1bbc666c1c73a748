internal import Formats
internal import Foundation

/// Host names in the one form that is looked up, compared and checked.
///
/// ASCII has one spelling: `bücher.example` is `xn--bcher-kva.example`, and characters that only look like the digits
/// and dots of an address have become them. Foundation has the tables of IDNA (UTS #46, non-transitional); unlike the C
/// library's, they do not depend on the locale.
package enum DomainName {
    /// Maximum bytes of a name to translate: one in ASCII has 253, each of which may have been four.
    private static let maximumBytes = 1_024

    /// - Returns: The ASCII form of a name, or the name itself if it is in ASCII; `nil` if it has none or is not a
    ///   valid name.
    package static func ascii(_ host: String) -> String? {
        guard host.utf8.contains(where: { $0 >= 0x80 }) else { return host }
        guard host.utf8.count <= maximumBytes, host.utf8.allSatisfy({ $0 >= 0x80 || isNameByte($0) }),
            let text = URL(string: "http://\(host)/")?.absoluteString, text.hasPrefix("http://"), text.hasSuffix("/")
        else { return nil }
        let name = text.dropFirst(7).dropLast()
        return name.utf8.allSatisfy(isNameByte) ? name.lowercased() : nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-._".utf8.contains(byte)
    }
}
