/// The address of an app backend: scheme, host and port; its routes begin with `/api/`.
package struct BackendAddress: Sendable, Equatable, CustomStringConvertible {
    /// The address in the form `https://push.example.org:8788`, without a slash at the end.
    package let url: String
    private let endpoint: Endpoint

    /// Reads `https` or `http`, a host and an optional port; the path is `/` or `/api/`, as apps call it.
    package init(parsing text: String) throws(BackendAddressError) {
        func refuse(_ reason: String) -> BackendAddressError { BackendAddressError(address: text, reason: reason) }

        let lowercased = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: lowercased.hasPrefix) else {
            throw refuse("does not begin with https:// or http://")
        }
        var base = text[...]
        for end in ["/api/", "/api"] where base.hasSuffix(end) {
            base = base.dropLast(end.count)
            break
        }
        if base.hasSuffix("/") { base = base.dropLast() }
        guard !base.dropFirst(scheme.count).contains("/") else { throw refuse("has a path other than /api/") }
        do {
            endpoint = try Endpoint(String(base))
        } catch .badEndpoint(_, let reason) {
            throw refuse(reason)
        } catch {
            throw refuse("\(error)")
        }
        url = "\(endpoint.scheme)://\(endpoint.authority)"
    }

    /// Makes the address of the app backend that a hub serves on its own port.
    package init(servedBy hub: ConnectionString) throws(BackendAddressError) {
        let url: String
        do {
            url = try hub.baseURL(allowingPlainHTTP: true)
        } catch {
            throw BackendAddressError(address: hub.endpoint, reason: "\(error)")
        }
        try self.init(parsing: url)
    }

    package var host: String { endpoint.host }

    /// True if traffic can be read on the network: plain HTTP to another machine.
    package var isExposed: Bool { endpoint.scheme == "http" && !endpoint.isLoopback }

    package var description: String { url }
}

/// The reason why a text is not the address of an app backend.
package struct BackendAddressError: Error, Equatable, Sendable, CustomStringConvertible {
    package let address: String
    /// The end of a sentence that begins with the address.
    package let reason: String

    package init(address: String, reason: String) {
        self.address = address
        self.reason = reason
    }

    package var description: String { "'\(address.excerpt)' is not a valid app backend address: it \(reason)" }
}
