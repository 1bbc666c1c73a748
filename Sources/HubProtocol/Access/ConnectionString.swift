/// The address of a hub, and the key to call it with.
///
/// Source: protocol §1.1.
package struct ConnectionString: Sendable, Equatable, CustomStringConvertible {
    /// Maximum length of a key and of a key name, in characters: the limit of .NET.
    package static let maximumPartLength = 256

    /// The endpoint in the form `scheme://host[:port]/`, scheme and host in lower case.
    package let endpoint: String
    package let keyName: String
    /// Never log it.
    package let key: String

    private let parsed: Endpoint

    /// Reads the parts in any order, their names in any case, with or without a `;` at the end.
    package init(parsing text: String) throws(ConnectionStringError) {
        var values: [Part: String] = [:]
        let fields = text.split(separator: ";", omittingEmptySubsequences: true)
        for (index, field) in fields.enumerated() {
            let trimmed = field.trimmed
            if trimmed.isEmpty { continue }
            let equals = trimmed.firstIndex(of: "=") ?? trimmed.endIndex
            let name = String(trimmed[..<equals]).lowercased()
            guard equals < trimmed.endIndex, let part = Part.allCases.first(where: { $0.rawValue.lowercased() == name })
            else { throw .unknownPart(position: index + 1) }
            guard values.updateValue(String(trimmed[equals...].dropFirst()), forKey: part) == nil else {
                throw .repeatedPart(part.rawValue)
            }
        }
        let missing = Part.allCases.filter { values[$0]?.isEmpty ?? true }.map(\.rawValue)
        guard missing.isEmpty, let endpoint = values[.endpoint], let keyName = values[.keyName], let key = values[.key]
        else { throw .missingParts(missing) }
        try self.init(endpoint: endpoint, keyName: keyName, key: key)
    }

    /// Joins the parts; the endpoint is `sb`, `https` or `http`, a host, and an optional port, without a path.
    package init(endpoint: String, keyName: String, key: String) throws(ConnectionStringError) {
        for (part, value) in [(Part.keyName, keyName), (.key, key)] {
            guard !value.isEmpty else { throw .missingParts([part.rawValue]) }
            guard value.unicodeScalars.count <= Self.maximumPartLength else {
                throw .partTooLong(part.rawValue, limit: Self.maximumPartLength)
            }
            guard !value.unicodeScalars.contains(where: { $0 == ";" || $0.value < 0x20 || $0.value == 0x7F }) else {
                throw .badCharacter(part.rawValue)
            }
        }
        parsed = try Endpoint(endpoint)
        self.endpoint = "\(parsed.scheme)://\(parsed.authority)/"
        self.keyName = keyName
        self.key = key
    }

    /// The three parts in the order and form that every client reads; contains the key.
    package var description: String {
        "Endpoint=\(endpoint);SharedAccessKeyName=\(keyName);SharedAccessKey=\(key)"
    }

    /// Returns the address to call, without a trailing slash; `sb` means `https`.
    ///
    /// Plain `http` to another machine is refused with ``ConnectionStringError/plainHTTP(host:)`` unless allowed: the
    /// token and all data could be read on the network.
    package func baseURL(allowingPlainHTTP: Bool = false) throws(ConnectionStringError) -> String {
        guard parsed.scheme == "http" else { return "https://\(parsed.authority)" }
        guard allowingPlainHTTP || parsed.isLoopback else { throw .plainHTTP(host: parsed.host) }
        return "http://\(parsed.authority)"
    }

    /// True if only programs of the same machine can use the endpoint.
    package var isLoopback: Bool { parsed.isLoopback }

    private enum Part: String, CaseIterable {
        case endpoint = "Endpoint"
        case keyName = "SharedAccessKeyName"
        case key = "SharedAccessKey"
    }
}

/// The reason why a connection string cannot be used; never contains a key.
package enum ConnectionStringError: Error, Equatable, Sendable, CustomStringConvertible {
    case missingParts([String])
    /// The part at this position, from 1, has no known name. It is not quoted, since it may be a bare key.
    case unknownPart(position: Int)
    case repeatedPart(String)
    case partTooLong(String, limit: Int)
    case badCharacter(String)
    case badEndpoint(String, reason: String)
    case plainHTTP(host: String)

    package var description: String {
        switch self {
        case .missingParts(let names):
            "the connection string has no \(names.joined(separator: ", no "))"
        case .unknownPart(let position):
            "part \(position) of the connection string is not one of Endpoint=, SharedAccessKeyName=, SharedAccessKey="
        case .repeatedPart(let name):
            "the connection string names \(name) twice"
        case .partTooLong(let name, let limit):
            "\(name) of the connection string is longer than \(limit) characters"
        case .badCharacter(let name):
            "\(name) of the connection string has a character that is not allowed there"
        case .badEndpoint(let endpoint, let reason):
            "endpoint '\(endpoint.excerpt)' of the connection string \(reason)"
        case .plainHTTP(let host):
            "endpoint host '\(host)' is not this machine, and http would expose the key's tokens on the network"
        }
    }
}
