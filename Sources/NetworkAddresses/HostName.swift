internal import Formats

/// The name of a server in URLs and in its certificate: a domain name, or an address.
///
/// Names are in lower-case ASCII, without a dot at the end.
package enum HostName: Sendable, Hashable, CustomStringConvertible {
    case name(String)
    case address(NetworkAddress)

    /// Maximum bytes of a name and of a label.
    ///
    /// Source: RFC 1035 §2.3.4.
    package static let maximumLength = 253
    private static let maximumLabel = 63

    /// - Parameter text: A name, or an address, IPv6 also in brackets; `nil` for anything else, including a port.
    package init?(_ text: some StringProtocol) {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let bare = isBracketed ? String(text.dropFirst().dropLast()) : String(text)
        if !bare.contains("%"), let address = NetworkAddress(bare) {
            guard !isBracketed || address.bytes.count == 16 else { return nil }
            self = .address(address)
            return
        }
        guard !isBracketed else { return nil }
        let name = (bare.hasSuffix(".") ? bare.dropLast() : bare[...]).lowercased()
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        // Some programs read a name that ends in a number as an address.
        guard name.utf8.count <= Self.maximumLength, labels.allSatisfy(Self.isLabel),
            labels.last?.isDigits == false
        else { return nil }
        self = .name(name)
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...maximumLabel).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
            && label.hasOnlyLettersAndDigits(or: "-_")
    }

    /// The name as it is written alone.
    package var description: String {
        switch self {
        case .name(let name): name
        case .address(let address): address.description
        }
    }

    /// The name as part of a URL: IPv6 in brackets.
    package var urlHost: String {
        switch self {
        case .name(let name): name
        case .address(let address): address.bytes.count == 16 ? "[\(address)]" : address.description
        }
    }

    /// True if it names this machine only.
    package var isLoopback: Bool {
        switch self {
        case .name(let name): name == "localhost" || name.hasSuffix(".localhost")
        case .address(let address): address.isLoopback
        }
    }
}
