import Crypto
import Foundation
import GRDB

/// Encrypts what of a hub holds secrets of push services: AES-256-GCM, with a key that is not in the database.
///
/// A copy of the database alone tells nobody how to send as its owner. Each text is bound to its hub.
///
/// Source: NIST SP 800-38D.
package struct SecretBox: Sendable {
    /// Bytes of a key.
    package static let keyBytes = 32
    private static let mark = "sealed:1:"

    private let key: SymmetricKey

    /// - Parameter key: ``keyBytes`` random bytes.
    package init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    /// Encrypts a text that belongs to no hub, and opens for the same purpose only.
    package func seal(_ text: String, purpose: String) throws -> String {
        try seal(text, Data("newswire \(purpose)".utf8))
    }

    /// - Returns: `nil` for what was not sealed with this key for this purpose.
    package func open(_ text: String, purpose: String) -> String? {
        guard text.hasPrefix(Self.mark) else { return nil }
        return open(text, Data("newswire \(purpose)".utf8))
    }

    func seal(_ text: String, hub: Int64) throws -> String { try seal(text, Self.context(hub)) }

    private func seal(_ text: String, _ context: Data) throws -> String {
        let box = try AES.GCM.seal(Data(text.utf8), using: key, authenticating: context)
        return Self.mark + (box.combined ?? Data()).base64EncodedString()
    }

    /// - Returns: `nil` for what another key has sealed; a text that was never sealed as it is.
    func open(_ text: String, hub: Int64) -> String? {
        guard text.hasPrefix(Self.mark) else { return text }
        return open(text, Self.context(hub))
    }

    private func open(_ text: String, _ context: Data) -> String? {
        guard let data = Data(base64Encoded: String(text.dropFirst(Self.mark.count))),
            let box = try? AES.GCM.SealedBox(combined: data),
            let opened = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }

    private static func context(_ hub: Int64) -> Data { Data("newswire hub \(hub)".utf8) }
}

extension SecretBox {
    /// SQL functions `sealed(text, hubID)` and `opened(text, hubID)`, through which statements write and read.
    ///
    /// Without a box texts are written as they are, and what is sealed reads as NULL.
    static func register(_ box: SecretBox?, in db: Database) {
        func function(_ name: String, _ body: @escaping @Sendable (String, Int64) throws -> String?) -> DatabaseFunction
        {
            DatabaseFunction(name, argumentCount: 2) { values in
                guard let text = String.fromDatabaseValue(values[0]), let hub = Int64.fromDatabaseValue(values[1])
                else {
                    return nil
                }
                return try body(text, hub)
            }
        }
        db.add(function: function("sealed") { text, hub in try box.map { try $0.seal(text, hub: hub) } ?? text })
        db.add(
            function: function("opened") { text, hub in
                if let box { return box.open(text, hub: hub) }
                return text.hasPrefix(mark) ? nil : text
            }
        )
    }
}
