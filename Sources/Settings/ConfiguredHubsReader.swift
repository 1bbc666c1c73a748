internal import HubProtocol
internal import Yams

/// Reads the sections `hubs:` and `namespace:`, and collects all of their problems.
struct ConfiguredHubsReader {
    private enum HubMember: String, CaseIterable {
        case registrationTimeToLive = "registration-time-to-live"
        case rules
        case credentials
        case pageTitle = "page-title"
        case pageDescription = "page-description"
        case pageLogo = "page-logo"
        case pageAccent = "page-accent"
        case pageImages = "page-images"
        case approval
    }

    private enum RuleKey: String, CaseIterable {
        case rights
        case primaryKeyFile = "primary-key-file"
        case secondaryKeyFile = "secondary-key-file"
    }

    /// The rules that exist without configuration, with their rights.
    private static let standardRights: [String: AccessRights] = [
        AccessRule.defaultListenName: .listen,
        AccessRule.defaultFullName: [.listen, .manage, .send],
        AccessRule.rootName: [.listen, .manage, .send],
    ]
    private static let timesToLive: ClosedRange<Duration> = .seconds(86_400) ... .seconds(36_500 * 86_400)

    let file: String
    /// Makes a path that is relative to the file absolute.
    let locate: (String) -> String
    private(set) var problems: [SettingsProblem] = []

    init(file: String, locate: @escaping (String) -> String) {
        self.file = file
        self.locate = locate
    }

    mutating func hubs(_ node: Node) -> [ConfiguredHub] {
        guard let mapping = mapping(node, "'hubs' must hold names of hubs, such as '  orders:'") else { return [] }
        var hubs: [ConfiguredHub] = []
        for (key, node) in mapping {
            let text = key.scalar?.string ?? ""
            let name: HubName
            do throws(ProtocolError) {
                name = try HubName(text)
            } catch {
                problem(key, "hub '\(text.excerpt)': \(error.detail)")
                continue
            }
            guard !hubs.contains(where: { $0.name == name }) else {
                problem(key, "hub '\(name)' appears twice; case is ignored in names of hubs")
                continue
            }
            if let hub = hub(name, node) { hubs.append(hub) }
        }
        return hubs
    }

    mutating func namespace(_ node: Node) -> [ConfiguredRule] {
        guard let mapping = mapping(node, "'namespace' must hold '  rules:'") else { return [] }
        var rules: [ConfiguredRule] = []
        for (key, node) in mapping {
            guard key.scalar?.string == HubMember.rules.rawValue else {
                unknown(key, known: [HubMember.rules.rawValue])
                continue
            }
            rules = self.rules(node, of: "the namespace")
        }
        return rules
    }

    private mutating func hub(_ name: HubName, _ node: Node) -> ConfiguredHub? {
        guard let mapping = mapping(node, "hub '\(name)' must hold settings such as '    rules:'") else { return nil }
        var (timeToLive, rules): (Duration?, [ConfiguredRule]) = (nil, [])
        var credentials: [ConfiguredCredential] = []
        var page = ConfiguredPage()
        for (key, node) in mapping {
            let member = key.scalar?.string ?? ""
            switch HubMember(rawValue: member) {
            case .registrationTimeToLive:
                do throws(SettingValueError) {
                    timeToLive = try SettingFormat.time(Self.timesToLive).parse(node.scalar?.string ?? "")
                } catch {
                    problem(node, "'\(HubMember.registrationTimeToLive.rawValue)' of hub '\(name)' \(error)")
                }
            case .rules: rules = self.rules(node, of: "hub '\(name)'")
            case .credentials: credentials = self.credentials(node, of: name)
            case .pageTitle: page.title = line(node, named: member)
            case .pageDescription: page.description = line(node, named: member)
            case .pageLogo:
                page.logo = path(node, named: member, "a PNG").map {
                    ConfiguredPage.Entry(text: $0, origin: .file(file, line: node.mark?.line))
                }
            case .pageAccent: page.accent = line(node, named: member)
            case .pageImages: page.images = choice(node, named: member, ["true": true, "false": false])
            case .approval: page.approvesUrgent = choice(node, named: member, ["one": false, "two": true])
            case nil: unknown(key, known: HubMember.allCases.map(\.rawValue))
            }
        }
        return ConfiguredHub(
            name: name,
            registrationTimeToLive: timeToLive,
            rules: rules,
            credentials: credentials,
            page: page
        )
    }

    private mutating func choice(_ node: Node, named name: String, _ words: [String: Bool]) -> Bool? {
        guard let value = node.scalar.flatMap({ words[$0.string] }) else {
            problem(node, "'\(name)' must be \(words.keys.sorted().joined(separator: " or "))")
            return nil
        }
        return value
    }

    private mutating func line(_ node: Node, named name: String) -> ConfiguredPage.Entry? {
        guard let text = node.scalar?.string, node.null == nil, !text.allSatisfy(\.isWhitespace),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            problem(node, "'\(name)' must be a text of one line")
            return nil
        }
        return ConfiguredPage.Entry(text: text, origin: .file(file, line: node.mark?.line))
    }

    private mutating func credentials(_ node: Node, of hub: HubName) -> [ConfiguredCredential] {
        guard
            let mapping = mapping(
                node,
                "'credentials' of hub '\(hub)' must hold files, such as '      apns: apns.json'"
            )
        else { return [] }
        var credentials: [ConfiguredCredential] = []
        for (key, node) in mapping {
            guard let kind = PlatformCredential.Kind.configurable[key.scalar?.string ?? ""] else {
                problems.append(
                    SettingsProblem.unknown(
                        key,
                        kind: "push service",
                        known: PlatformCredential.Kind.configurable.keys.sorted(),
                        file: file,
                        instead: "apns: FILE"
                    )
                )
                continue
            }
            guard let path = path(node, named: key.scalar?.string ?? "", "the credential") else { continue }
            credentials.append(ConfiguredCredential(kind: kind, file: path, origin: .file(file, line: key.mark?.line)))
        }
        return credentials
    }

    private mutating func rules(_ node: Node, of owner: String) -> [ConfiguredRule] {
        guard let mapping = mapping(node, "'rules' of \(owner) must hold names of rules, such as '      Senders:'")
        else { return [] }
        var rules: [ConfiguredRule] = []
        for (key, node) in mapping {
            let name = key.scalar?.string ?? ""
            do throws(ProtocolError) {
                try AccessRule.checkName(name)
            } catch {
                problem(key, error.detail)
                continue
            }
            guard !rules.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
                problem(key, "\(owner) has two rules '\(name)'")
                continue
            }
            if let rule = rule(name, key, node) { rules.append(rule) }
        }
        guard rules.count <= AuthorizationRule.maximumCount else {
            problem(node, "\(owner) has more than \(AuthorizationRule.maximumCount) rules")
            return []
        }
        return rules
    }

    private mutating func rule(_ name: String, _ key: Node, _ node: Node) -> ConfiguredRule? {
        guard let mapping = mapping(node, "rule '\(name)' must hold '\(RuleKey.primaryKeyFile.rawValue)'") else {
            return nil
        }
        var rights = Self.standardRights[name]
        var files: [RuleKey: String] = [:]
        let before = problems.count
        for (key, node) in mapping {
            switch RuleKey(rawValue: key.scalar?.string ?? "") {
            case .rights: rights = self.rights(node, of: name)
            case .primaryKeyFile: files[.primaryKeyFile] = path(node, .primaryKeyFile)
            case .secondaryKeyFile: files[.secondaryKeyFile] = path(node, .secondaryKeyFile)
            case nil: unknown(key, known: RuleKey.allCases.map(\.rawValue))
            }
        }
        guard problems.count == before else { return nil }
        guard let rights else {
            problem(key, "rule '\(name)' has no 'rights', such as [Listen, Send]")
            return nil
        }
        guard let primary = files[.primaryKeyFile] else {
            problem(key, "rule '\(name)' has no '\(RuleKey.primaryKeyFile.rawValue)'")
            return nil
        }
        return ConfiguredRule(
            name: name,
            rights: rights,
            primaryKeyFile: primary,
            secondaryKeyFile: files[.secondaryKeyFile],
            origin: .file(file, line: key.mark?.line)
        )
    }

    private mutating func rights(_ node: Node, of rule: String) -> AccessRights? {
        let words =
            node.sequence.map { $0.map { $0.scalar?.string ?? "" } }
            ?? (node.scalar?.string ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        var rights: AccessRights = []
        for word in words {
            guard let right = AccessRights(name: word) else {
                problem(node, "rule '\(rule)' has the unknown right '\(word.excerpt)': known are Listen, Manage, Send")
                return nil
            }
            rights.formUnion(right)
        }
        do throws(ProtocolError) {
            try AccessRule.checkRights(rights, of: rule)
            return rights
        } catch {
            problem(node, error.detail)
            return nil
        }
    }

    private mutating func path(_ node: Node, _ key: RuleKey) -> String? {
        path(node, named: key.rawValue, "the key")
    }

    private mutating func path(_ node: Node, named name: String, _ content: String) -> String? {
        guard let text = node.scalar?.string, node.null == nil, !text.isEmpty,
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            problem(node, "'\(name)' must be the path of a file with \(content)")
            return nil
        }
        return text.hasPrefix(ConfiguredRule.credentials) ? text : locate(text)
    }

    // MARK: Problems

    private mutating func mapping(_ node: Node, _ otherwise: String) -> Node.Mapping? {
        if node.null != nil { return [:] }
        if let mapping = node.mapping { return mapping }
        problem(node, otherwise)
        return nil
    }

    private mutating func unknown(_ node: Node, known: [String]) {
        problems.append(
            SettingsProblem.unknown(node, kind: "key", known: known, file: file, instead: "primary-key-file")
        )
    }

    private mutating func problem(_ node: Node, _ text: String) {
        problems.append(SettingsProblem(place: file, line: node.mark?.line, text: text))
    }
}
