import AppBackend
import Certificates
import FeedLists
import FeedPublisher
import Formats
import Foundation
import HostSystem
import HubProtocol
import HubServer
import NetworkAddresses
package import ReplicatedLog
package import Settings
import SubscriberAgent

/// The problems that a start would meet, found without changing anything.
package struct ConfigurationCheck {
    private let settings: Settings
    private let programs: [SettingSection]
    private let environment: [String: String]

    package init(settings: Settings, programs: [SettingSection], environment: [String: String]) {
        self.settings = settings
        self.programs = programs
        self.environment = environment
    }

    package func problems() -> [String] {
        let problems = programs.flatMap { program in
            switch program {
            case .hub: hubProblems()
            case .backend: backendProblems()
            case .publisher: publisherProblems()
            case .agent: agentProblems()
            }
        }
        // Programs share files, such as the certificates of this machine.
        return problems.distinct()
    }

    /// Settings that a start accepts, but an operator may not want.
    package func warnings() -> [String] {
        guard programs.contains(.hub) else { return [] }
        return [unknownProxy, unknownAddress].compactMap(\.self)
    }

    private var unknownProxy: String? {
        let listen = settings.value(HubSettings.listen)
        // Other machines reach such a hub through a program on this machine only.
        guard HostName(listen)?.isLoopback == true,
            (settings.value(HubSettings.trustedProxies) ?? []).isEmpty, let sign = signOfOtherMachines
        else { return nil }
        // 'trusted-proxies' takes no names.
        let proxy = NetworkAddress(listen) == nil ? "127.0.0.1" : listen
        return
            "\(sign), 'listen' is a loopback address, and 'trusted-proxies' is empty: the clients of a proxy on this machine "
            + "count as one in all limits; set 'trusted-proxies: [\(proxy)]'"
    }

    /// The setting by which other machines are meant to reach the hub, for a message; `nil` if there is none.
    private var signOfOtherMachines: String? {
        if (settings.value(HubSettings.hostNames) ?? []).contains(where: { !$0.isLoopback }) {
            return "'host-names' has names for other machines"
        }
        let host = settings.value(HubSettings.publicAddress)?.hostName
        return host?.isLoopback == false ? "'public-address' is an address for other machines" : nil
    }

    private var unknownAddress: String? {
        guard let proxies = settings.value(HubSettings.trustedProxies), !proxies.isEmpty,
            settings.value(HubSettings.publicAddress) == nil
        else { return nil }
        let host = settings.value(HubSettings.hostNames)?.first { !$0.isLoopback }?.urlHost ?? "news.example.org"
        return
            "'trusted-proxies' is set and 'public-address' is not: connection strings and invitations have the hub's "
            + "own port instead of the proxy's; set 'public-address: https://\(host)', as the proxy is reached"
    }

    /// Settings without which a start works, but which an operator should set.
    package var recommendations: [String] {
        guard programs.contains(.publisher), HostFile.exists(feedDirectory),
            settings.value(PublisherSettings.contact) == nil
        else { return [] }
        return ["set 'contact' in the section 'publisher', so that operators of feed servers can reach you"]
    }

    /// The problems of the servers of the log that the hub shares with others; `nil` if there is none, or if its
    /// settings cannot be used.
    package func engine() async throws -> EngineCheck? {
        guard programs.contains(.hub), let configuration = LogSettings(settings).configuration,
            configuration.problems.isEmpty
        else { return nil }
        return try await EngineCheck.run(configuration)
    }

    /// The refusal of a hub whose key is not that of the others that share its log.
    private func keyProblem(_ directory: String) -> [String] {
        guard LogSettings(settings).configuration != nil else { return [] }
        let (database, key) = ("\(directory)/\(HubFiles.database)", "\(directory)/\(HubFiles.secrets)")
        return KeyProof.problem(in: database, secrets: key).map { [$0] } ?? []
    }

    /// The directory of the feed lists if it is named and does not exist.
    package var missingFeeds: String? {
        guard programs.contains(.publisher), let directory = namedFeeds, !HostFile.exists(directory) else { return nil }
        return directory
    }

    private var namedFeeds: String? {
        let isNamed = settings.origin(of: PublisherSettings.feeds.entry) != nil
        return isNamed ? feedDirectory : nil
    }

    private func hubProblems() -> [String] {
        certificateProblems(
            settings.value(HubSettings.tlsCertificate),
            key: settings.value(HubSettings.tlsKey),
            names: settings.value(HubSettings.hostNames)
        ) + ConfiguredKeys(environment: environment).problems(of: settings.hubs)
            + ConfiguredPages(settings.hubs).problems.map(\.description)
            + LogSettings(settings).problems
            + [HubSettings.logCredentials, HubSettings.logKey].compactMap { settings.value($0) }
            .flatMap(Self.permissionProblems)
            + (settings.value(HubSettings.appBackend) ? IdentitySettings(settings).problems() : [])
            + stateProblems(.hub, override: settings.value(HubSettings.state)) { directory in
                databaseProblem("\(directory)/\(HubFiles.database)", HubDatabase.problem)
                    + keyProblem(directory)
                    + (LocalCertificates.problem(in: directory).map { ["\($0)"] } ?? [])
                    + (settings.value(HubSettings.appBackend) ? accountProblems(directory) : [])
                    + HubFiles.Connection.allCases.flatMap { file in
                        let path = "\(directory)/\(file.rawValue)"
                        // The hub's own address may be one that plain HTTP does not reach from elsewhere.
                        return HostFile.exists(path) ? connectionProblems(path, allowsPlainHTTP: true) : []
                    }
            }
    }

    /// An app backend uses the state directory of this machine's hub.
    private func backendProblems() -> [String] {
        certificateProblems(
            settings.value(BackendSettings.tlsCertificate),
            key: settings.value(BackendSettings.tlsKey),
            names: settings.value(BackendSettings.hostNames)
        ) + connectionProblems(BackendSettings.connection)
            + IdentitySettings(settings).problems()
            + stateProblems(.hub, override: settings.value(HubSettings.state)) { directory in
                accountProblems(directory)
                    + (LocalCertificates.problem(in: directory).map { ["\($0)"] } ?? [])
            }
    }

    /// Problems of the files of an app backend, alone or in a hub's process.
    private func accountProblems(_ directory: String) -> [String] {
        let key = "\(directory)/\(HubFiles.backendKey)"
        return databaseProblem("\(directory)/\(HubFiles.backend)") { BackendStore.problem(at: $0, signs: [key]) }
            + (HostFile.exists(key) ? Self.permissionProblems(key) : [])
    }

    /// Problems of a certificate from outside; the server's own is made at the first start.
    private func certificateProblems(_ certificate: String?, key: String?, names: [HostName]?) -> [String] {
        switch (certificate, key) {
        case (nil, nil): return []
        case (_, nil): return [Self.incomplete("tls-certificate", "tls-key")]
        case (nil, _): return [Self.incomplete("tls-key", "tls-certificate")]
        case (let certificate?, let key?):
            do throws(CertificateProblem) {
                let facts = try CertificateFiles(certificate: certificate, key: key).identity(at: Date()).facts
                let missing = names?.filter { !facts.covers($0) } ?? []
                let list = missing.map { "'\($0)'" }.joined(separator: ", ")
                return Self.permissionProblems(key)
                    + (missing.isEmpty ? [] : ["the certificate in '\(certificate)' is not valid for \(list)"])
            } catch {
                return ["\(error)"]
            }
        }
    }

    /// The problem if only one of two settings is set.
    package static func incomplete(_ given: String, _ missing: String) -> String {
        "'\(given)' is set and '\(missing)' is not; both are needed, or neither"
    }

    /// Problems of a file that contains a key.
    ///
    /// A group may read it, so that one file can serve several programs.
    static func permissionProblems(_ path: String) -> [String] {
        guard let mode = try? HostFile.permissions(path), mode & 0o027 != 0 else { return [] }
        return [
            "'\(path)' holds a key and its mode is \(String(mode, radix: 8)): others can access it; use mode 600"
        ]
    }

    private func publisherProblems() -> [String] {
        feedProblems() + connectionProblems(PublisherSettings.connection)
            + stateProblems(.publisher, override: settings.value(PublisherSettings.state)) { directory in
                databaseProblem("\(directory)/\(PublisherFiles.database)", PublisherStore.problem)
            }
    }

    private func agentProblems() -> [String] {
        var problems = connectionProblems(AgentSettings.connection)
        if let program = settings.value(AgentSettings.exec), program.contains("/"), access(program, X_OK) != 0 {
            problems.append(
                "the agent's handler '\(program)' cannot be run: \(String(cString: strerror(errno)).lowercased())"
            )
        }
        return problems
            + stateProblems(.agent, override: nil) { directory in
                let profiles = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
                // A unit's directory is that of one profile, and contains files.
                let folders = profiles.sorted().map { "\(directory)/\($0)" }.filter { HostFile.exists("\($0)/.") }
                return ([directory] + folders).flatMap { folder in
                    let stored = "\(folder)/\(SubscriberAgent.connectionName)"
                    let database = "\(folder)/\(SubscriberAgent.databaseName)"
                    return databaseProblem(database, SubscriberAgent.databaseProblem)
                        + (HostFile.exists(stored) ? connectionProblems(stored, allowsPlainHTTP: true) : [])
                }
            }
    }

    /// A machine without a publisher has no lists: only lists that are named or exist are read.
    private func feedProblems() -> [String] {
        guard hasFeedLists else { return [] }
        do {
            let lists = try FeedLists.load(directory: feedDirectory, isStrict: true)
            return lists.lists.flatMap { list in list.feeds.flatMap { Self.accessProblems($0, in: list) } }
        } catch {
            return error.problems.map(\.description)
        }
    }

    /// Checks the files that the keys of a feed name.
    private static func accessProblems(_ feed: FeedSource, in list: FeedList) -> [String] {
        var problems: [String] = []
        do throws(FeedAccessError) {
            _ = try feed.access.allHeaders()
        } catch {
            problems.append("feed '\(feed.address.publicText)': \(error)")
        }
        if let file = feed.access.authorityFile, let problem = CertificateFiles.authorityProblem(file) {
            problems.append("feed '\(feed.address.publicText)': 'authority-file': \(problem)")
        }
        let line = feed.line.map { " line \($0)" } ?? ""
        return problems.map { "'\(list.file)'\(line): \($0)" }
            + (feed.access.headersFile.map(permissionProblems) ?? [])
    }

    private var feedDirectory: String { settings.value(PublisherSettings.feeds) }

    private var hasFeedLists: Bool { namedFeeds != nil || HostFile.exists(feedDirectory) }

    private func stateProblems(
        _ role: SettingSection,
        override: String?,
        _ look: (_ directory: String) -> [String]
    ) -> [String] {
        let path: String
        do {
            path = try StateDirectory.path(role: role.rawValue, override: override, environment: environment)
        } catch {
            return ["\(error)"]
        }
        // The first start makes it.
        guard HostFile.exists(path) else { return [] }
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            return ["the \(role.rawValue)'s state directory '\(path)' must be writable by this user"]
        }
        return look(path)
    }

    private func databaseProblem(_ path: String, _ problem: (String) -> String?) -> [String] {
        problem(path).map { ["cannot use database '\(path)': \($0)"] } ?? []
    }

    // MARK: Connection strings

    private func connectionProblems(_ connection: ConnectionSettings) -> [String] {
        let allowsPlainHTTP = settings.value(connection.allowPlainHTTP)
        let file = settings.value(connection.connectionFile)
        let authorities = settings.value(connection.authorityFile).flatMap { CertificateFiles.authorityProblem($0) }
        let problems: [String] =
            switch ConnectionSource(flag: nil, file: file, environment: environment) {
            case .file(let path): connectionProblems(path, allowsPlainHTTP: allowsPlainHTTP)
            case .variable(let text):
                stringProblem(text, "$\(ConnectionSource.stringVariable)", allowsPlainHTTP: allowsPlainHTTP)
            case nil: []
            }
        return problems + (authorities.map { ["\($0)"] } ?? [])
    }

    private func connectionProblems(_ path: String, allowsPlainHTTP: Bool) -> [String] {
        do throws(HostError) {
            let text = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
            return Self.permissionProblems(path) + stringProblem(text, "'\(path)'", allowsPlainHTTP: allowsPlainHTTP)
        } catch {
            return ["\(error)"]
        }
    }

    private func stringProblem(_ text: String, _ place: String, allowsPlainHTTP: Bool) -> [String] {
        guard text != ConnectionSource.missing else {
            return ["the file in the unit's LoadCredential= does not exist; has the hub ever run?"]
        }
        do throws(ConnectionStringError) {
            _ = try ConnectionString(parsing: text).baseURL(allowingPlainHTTP: allowsPlainHTTP)
            return []
        } catch {
            return ["the connection string in \(place) cannot be used: \(error)"]
        }
    }
}
