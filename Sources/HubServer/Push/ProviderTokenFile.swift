import Formats
import Foundation
import HostSystem
import HubProtocol
import HubStore
package import PushServices
import Synchronization

/// Keeps APNs' provider tokens in an encrypted file, so that frequent restarts do not make too many new tokens.
///
/// If the file cannot be read or written, the hub only makes a new token.
package final class ProviderTokenFile: ProviderTokenStore {
    private static let purpose = "provider tokens"
    /// Tokens in the file; each is valid for an hour.
    private static let maximumTokens = 1_000

    private struct Entry: Codable {
        let issuer: ProviderIssuer
        let token: ProviderToken
    }

    private let path: String
    private let secrets: SecretsFile
    private let entries = Mutex<[Entry]?>(nil)

    /// Makes a store for tokens; `secretsPath` is ``HubConfiguration/secretsPath``.
    package init(path: String, secretsPath: String) {
        self.path = path
        secrets = SecretsFile(path: secretsPath)
    }

    package func load(_ issuer: ProviderIssuer) -> ProviderToken? {
        entries.withLock { entries in
            let known = entries ?? read()
            entries = known
            return known.last { $0.issuer == issuer }?.token
        }
    }

    package func save(_ token: ProviderToken, _ issuer: ProviderIssuer) {
        entries.withLock { entries in
            var known = (entries ?? read()).filter { $0.issuer != issuer }
            known.append(Entry(issuer: issuer, token: token))
            known = known.suffix(Self.maximumTokens)
            entries = known
            guard let text = try? JSONEncoder.sorted.text(known),
                let sealed = try? secrets.box().seal(text, purpose: Self.purpose)
            else { return }
            try? PrivateFile.write(sealed, to: path)
        }
    }

    private func read() -> [Entry] {
        guard let sealed = try? PrivateFile.read(path, limit: 4 << 20),
            let text = try? secrets.box().open(sealed, purpose: Self.purpose)
        else { return [] }
        return (try? JSONReader.decode([Entry].self, from: text, limits: .stored)) ?? []
    }
}
