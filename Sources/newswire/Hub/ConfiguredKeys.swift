import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import HubServer
import Settings

/// Reads the keys of the rules that the configuration asks for, from their files and the unit's credentials.
struct ConfiguredKeys {
    var environment = ProcessInfo.processInfo.environment

    /// - Throws: `ExitCode` 78, when all that is wrong was said.
    func provisions(of hubs: ConfiguredHubs) throws -> HubProvisions {
        var reading = Reading(environment: environment)
        let provisions = reading.provisions(of: hubs)
        for problem in reading.problems { Console.error("\(problem)") }
        guard reading.problems.isEmpty else { throw ExitCode(ExitStatus.badConfiguration.rawValue) }
        return provisions
    }

    /// All that is wrong with the keys and their files, for `newswire check`.
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

        init(environment: [String: String]) { self.environment = environment }

        mutating func provisions(of hubs: ConfiguredHubs) -> HubProvisions {
            var provisions = HubProvisions()
            provisions.namespaceRules = rules(hubs.rules)
            for hub in hubs.hubs {
                provisions.hubs.append(
                    HubProvisions.Hub(
                        name: hub.name,
                        registrationTimeToLive: hub.registrationTimeToLive.map { RegistrationTimeToLive($0) },
                        rules: rules(hub.rules)
                    )
                )
            }
            return provisions
        }

        private mutating func rules(_ rules: [ConfiguredRule]) -> [AccessRule] {
            var known: [AccessRule] = []
            for rule in rules {
                let primary = key(rule.primaryKeyFile, rule)
                // Exactly these keys: without a second one the first is both.
                let secondary = rule.secondaryKeyFile.map { key($0, rule) } ?? primary
                guard let primary, let secondary else { continue }
                known.append(
                    AccessRule(name: rule.name, primaryKey: primary, secondaryKey: secondary, rights: rule.rights)
                )
            }
            return known
        }

        private mutating func key(_ file: String, _ rule: ConfiguredRule) -> String? {
            guard let path = path(file) else {
                problem(rule, "'\(file)' needs a unit with LoadCredential=; there is no $CREDENTIALS_DIRECTORY")
                return nil
            }
            do throws(HostError) {
                let key = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
                if try HostFile.permissions(path) & 0o027 != 0 {
                    let mode = String(try HostFile.permissions(path), radix: 8)
                    exposed.append(
                        "'\(path)' holds a key and its mode is \(mode): others can read or change it; chmod 600 it"
                    )
                }
                guard !key.contains("SharedAccessKey=") else {
                    problem(rule, "'\(path)' holds a connection string; put its key alone there")
                    return nil
                }
                do throws(ProtocolError) {
                    try AccessRule.checkKey(key, of: rule.name)
                    return key
                } catch {
                    problem(
                        rule,
                        "the key in '\(path)' cannot be used: it needs 1 to 256 visible characters without ';'"
                    )
                    return nil
                }
            } catch {
                problem(rule, "\(error)")
                return nil
            }
        }

        private func path(_ file: String) -> String? {
            guard file.hasPrefix(ConfiguredRule.credentials) else { return file }
            guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") else { return nil }
            return "\(directory)/\(file.dropFirst(ConfiguredRule.credentials.count))"
        }

        private mutating func problem(_ rule: ConfiguredRule, _ text: String) {
            problems.append(rule.origin.problem("rule '\(rule.name)': \(text)"))
        }
    }
}
