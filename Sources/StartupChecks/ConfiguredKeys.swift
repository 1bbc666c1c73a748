import Foundation
import HostSystem
import HubProtocol
package import HubServer
import PushServices
package import Settings

/// Reads the keys of the rules that the configuration asks for, from their files and the unit's credentials.
package struct ConfiguredKeys {
    private let environment: [String: String]

    package init(environment: [String: String]) { self.environment = environment }

    /// - Throws: ``SettingsError`` with all problems.
    package func provisions(of hubs: ConfiguredHubs) throws(SettingsError) -> HubProvisions {
        var reading = Reading(environment: environment)
        let provisions = reading.provisions(of: hubs)
        guard reading.problems.isEmpty else { throw SettingsError(reading.problems) }
        return provisions
    }

    /// All problems with the keys and their files, for `newswire check`.
    func problems(of hubs: ConfiguredHubs) -> [String] {
        var reading = Reading(environment: environment)
        _ = reading.provisions(of: hubs)
        return reading.problems.map(\.description) + reading.exposed
    }

    private struct Reading {
        let environment: [String: String]
        var problems: [SettingsProblem] = []
        /// Files that others can read.
        var exposed: [String] = []

        mutating func provisions(of hubs: ConfiguredHubs) -> HubProvisions {
            var provisions = HubProvisions()
            provisions.namespaceRules = rules(hubs.rules)
            for hub in hubs.hubs {
                provisions.hubs.append(
                    HubProvisions.Hub(
                        name: hub.name,
                        registrationTimeToLive: hub.registrationTimeToLive.map { RegistrationTimeToLive($0) },
                        rules: rules(hub.rules),
                        credentials: hub.credentials.compactMap { credential($0) }
                    )
                )
            }
            return provisions
        }

        private mutating func rules(_ rules: [ConfiguredRule]) -> [AccessRule] {
            var known: [AccessRule] = []
            for rule in rules {
                let primary = key(rule.primaryKeyFile, rule)
                // No key is generated: without a second one the first is used for both.
                let secondary = rule.secondaryKeyFile.map { key($0, rule) } ?? primary
                guard let primary, let secondary else { continue }
                known.append(
                    AccessRule(name: rule.name, primaryKey: primary, secondaryKey: secondary, rights: rule.rights)
                )
            }
            return known
        }

        private mutating func key(_ file: String, _ rule: ConfiguredRule) -> String? {
            do {
                let path = try path(file)
                let key = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
                exposed += ConfigurationCheck.permissionProblems(path)
                guard !key.contains("SharedAccessKey=") else {
                    throw CredentialFile.Problem(
                        description: "'\(path)' contains a connection string; put only its key there"
                    )
                }
                do throws(ProtocolError) { try AccessRule.checkKey(key, of: rule.name) } catch {
                    throw CredentialFile.Problem(
                        description:
                            "the key in '\(path)' cannot be used: it needs 1 to 256 visible characters without ';'"
                    )
                }
                return key
            } catch {
                problems.append(rule.origin.problem("rule '\(rule.name)': \(error)"))
                return nil
            }
        }

        private mutating func credential(_ configured: ConfiguredCredential) -> PlatformCredential? {
            do {
                let path = try path(configured.file)
                var file = CredentialFile(path: path)
                let credential = try file.credential(configured.kind)
                exposed += file.files.flatMap { ConfigurationCheck.permissionProblems($0) }
                let made = Result { () throws(BadCredential) in
                    try PushServiceDirectory().service(for: credential).credentialExpiresAt
                }
                switch made {
                case .success(let end?) where end < Timestamp(Date()) + PushServiceDirectory.expiryNotice:
                    exposed.append("the credential in '\(path)' expires on \(end.wholeSecond)")
                case .success: break
                // It was valid at the last start, and the hub must not be down for one service.
                case .failure(let error) where error.hasExpired:
                    exposed.append("the credential in '\(path)' cannot be used: \(error)")
                case .failure(let error): throw error
                }
                return credential
            } catch {
                problems.append(configured.origin.problem("\(configured.kind.element): \(error)"))
                return nil
            }
        }

        private func path(_ file: String) throws -> String {
            guard file.hasPrefix(ConfiguredRule.credentials) else { return file }
            let name = String(file.dropFirst(ConfiguredRule.credentials.count))
            guard let path = Credentials.path(name, environment) else {
                throw CredentialFile.Problem(
                    description: "'\(file)' needs a unit with LoadCredential=; there is no $CREDENTIALS_DIRECTORY"
                )
            }
            return path
        }
    }
}
