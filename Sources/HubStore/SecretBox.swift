import Crypto
import Foundation
import GRDB

/// Encrypts the credentials of a hub for push services with AES-256-GCM and a key that is not in the database.
///
/// A copy of the database alone therefore does not allow anybody to send in its owner's name. Each text is bound to its hub.
///
/// Source: NIST SP 800-38D.
package struct SecretBox: Sendable {
    /// Bytes of a key.
    package static let keyBytes = 32
    private static let mark = "sealed:1:"

    private let key: SymmetricKey

    /// - Parameter key: ``keyBytes`` random bytes.
    package init(key: [UInt8]) { self.key = SymmetricKey(data: key) }

    /// Encrypts a text that belongs to no hub; it can be decrypted only with the same purpose.
    package func seal(_ text: String, purpose: String) throws -> String {
        try seal(text, Data("newswire \(purpose)".utf8))
    }

    /// - Returns: `nil` for a text that was not encrypted with this key and purpose.
    package func open(_ text: String, purpose: String) -> String? {
        guard text.hasPrefix(Self.mark) else { return nil }
        return open(text, Data("newswire \(purpose)".utf8))
    }

    /// A key of ``keyBytes`` for one purpose, from which this key cannot be found.
    ///
    /// Source: RFC 5869 (HKDF).
    package func derivedKey(_ purpose: String) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key,
            info: Data("newswire \(purpose)".utf8),
            outputByteCount: Self.keyBytes
        ).withUnsafeBytes { [UInt8]($0) }
    }

    func seal(_ text: String, hub: Int64) throws -> String { try seal(text, Self.context(hub)) }

    private func seal(_ text: String, _ context: Data) throws -> String {
        let box = try AES.GCM.seal(Data(text.utf8), using: key, authenticating: context)
        return Self.mark + (box.combined ?? Data()).base64EncodedString()
    }

    /// - Returns: `nil` for a text that was encrypted with another key; an unencrypted text as it is.
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
    /// Adds the SQL functions `sealed(text, hubID)`, which encrypts, and `opened(text, hubID)`, which decrypts.
    ///
    /// Without a box, `sealed` returns the text as it is, and `opened` returns NULL for an encrypted one.
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
