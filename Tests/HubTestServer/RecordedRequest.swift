/// A request as it arrived.
package struct RecordedRequest: Sendable {
    package let method: String

    /// Path and query as sent.
    package let target: String
    package let headers: [(name: String, value: String)]

    /// Request line and headers as they came, whatever their encoding.
    package let head: [UInt8]
    package let body: [UInt8]

    /// Which connection of the server it came over, from 0.
    package let connection: Int

    package var path: String { String(target.prefix { $0 != "?" }) }
    package var query: String { String(target.drop { $0 != "?" }.dropFirst()) }
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The first header of this name, in any case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
