extension Installation {
    /// Notes everything about this installation that a hub must refuse, whether a PUT or a PATCH brought it about.
    ///
    /// Source: protocol §3.8, §4.2; design §6 for platform `stream`.
    ///
    /// A channel is not required where only its digest is kept, outside this record.
    func checkRules(_ problems: inout ProblemList, requiresPushChannel: Bool = true) {
        guard platform.isKnown else {
            let names = Platform.known.map(\.rawValue).joined(separator: ", ")
            problems.add("platform '\(platform.rawValue.excerpt)' is none of \(names)")
            return
        }
        let rules = PlatformRules(platform: platform)
        let target = SecondaryTile(pushChannel: pushChannel, tags: tags, templates: templates)
        if requiresPushChannel || pushChannel != nil { rules.checkChannel(target, at: "", &problems) }
        rules.check(target, at: "", &problems)
        checkPushVariables(&problems)

        if !secondaryTiles.isEmpty, platform != .wns {
            problems.add("secondaryTiles are for platform wns only")
            return
        }
        if secondaryTiles.count > Self.maximumSecondaryTiles {
            problems.add("there are more than \(Self.maximumSecondaryTiles) secondaryTiles")
        }
        for (name, tile) in secondaryTiles.sorted(by: { $0.key < $1.key }) {
            rules.checkChannel(tile, at: "secondaryTiles/\(name.excerpt)/", &problems)
            rules.check(tile, at: "secondaryTiles/\(name.excerpt)/", &problems)
        }
    }

    /// Looks at an installation that was put together from another one.
    ///
    /// - Throws: ``ProtocolError`` 400 naming every rule that it breaks.
    package func validate(replacing current: Installation) throws(ProtocolError) {
        var problems = ProblemList()
        // A hub keeps only the digest of a stream's channel, so there is none to look at unless a change brings one.
        let hasHiddenChannel = current.platform == .stream && pushChannel == nil
        checkRules(&problems, requiresPushChannel: !hasHiddenChannel)
        if encodedJSON(as: .request).utf8.count > Self.maximumBytes {
            problems.add("the installation would be larger than \(Self.maximumBytes) bytes")
        }
        try problems.throwIfAny()
    }

    private func checkPushVariables(_ problems: inout ProblemList) {
        if pushVariables.count > Self.maximumPushVariables {
            problems.add("there are more than \(Self.maximumPushVariables) pushVariables")
        }
        var seen: Set<String> = []
        for name in pushVariables.keys.sorted() {
            if !MessageProperties.isName(name) {
                problems.add("pushVariables/\(name.excerpt) needs a name of letters A-Z, digits or '_'")
            } else if !seen.insert(name.lowercased()).inserted {
                problems.add("pushVariables/\(name) differs from another in case only")
            }
        }
    }
}

/// What one platform asks of channels and templates.
private struct PlatformRules {
    let platform: Platform

    func checkChannel(_ target: SecondaryTile, at label: String, _ problems: inout ProblemList) {
        if let channel = target.pushChannel {
            if let reason = problem(of: channel) { problems.add("\(label)pushChannel \(reason)") }
        } else {
            problems.add("\(label)pushChannel is missing")
        }
    }

    func check(_ target: SecondaryTile, at label: String, _ problems: inout ProblemList) {
        checkTags(target.tags, at: "\(label)tags", &problems)
        if target.templates.count > Installation.maximumTemplates {
            problems.add("\(label)templates are more than \(Installation.maximumTemplates)")
        }
        for (name, template) in target.templates.sorted(by: { $0.key < $1.key }) {
            let place = "\(label)templates/\(name.excerpt)"
            if name.isEmpty || name.unicodeScalars.count > Installation.maximumTemplateNameLength {
                problems.add(
                    "\(place): a template's name has 1 to \(Installation.maximumTemplateNameLength) characters"
                )
            }
            checkTags(target.tags + template.tags, at: "\(place)/tags", &problems)
            check(template, at: place, &problems)
        }
    }

    private func checkTags(_ tags: [Tag], at label: String, _ problems: inout ProblemList) {
        if Set(tags).count > Installation.maximumTags {
            problems.add("\(label): more than \(Installation.maximumTags) tags")
        }
        let length = tags.reduce(max(0, tags.count - 1)) { $0 + $1.text.unicodeScalars.count }
        if length > Installation.maximumTagsLength {
            problems.add("\(label): the tags are longer than \(Installation.maximumTagsLength) characters together")
        }
    }

    /// What is wrong with a channel, without quoting it: it is an address that others must not learn.
    private func problem(of channel: PushChannel) -> String? {
        switch (channel, platform) {
        case (.browser(let browser), .browser):
            guard Self.isURI(browser.endpoint, schemes: ["https"]) else { return "has no https 'endpoint'" }
            let limit = PushChannel.maximumLength
            guard [browser.endpoint, browser.p256dh, browser.auth].allSatisfy({ $0.utf8.count <= limit }) else {
                return "is longer than \(limit) bytes"
            }
            return Self.isBase64URL(browser.p256dh) && Self.isBase64URL(browser.auth)
                ? nil : "has a 'p256dh' or 'auth' that is not base64url"
        case (.handle, .browser): return "is not an object of endpoint, p256dh and auth"
        case (.browser, _): return "is an object, which only platform browser has"
        case (.handle(let text), _): return problem(ofHandle: text)
        }
    }

    private func problem(ofHandle text: String) -> String? {
        guard !text.isEmpty else { return "is empty" }
        guard text.utf8.count <= PushChannel.maximumLength else {
            return "is longer than \(PushChannel.maximumLength) bytes"
        }
        switch platform {
        case .apns:
            let isToken = text.unicodeScalars.allSatisfy(\.isHexadecimalDigit) && text.utf8.count.isMultiple(of: 2)
            return isToken ? nil : "is not an even number of hexadecimal digits"
        case .wns, .mpns:
            return Self.isURI(text, schemes: ["https", "http"]) ? nil : "is not an absolute http or https URI"
        case .stream:
            return (try? PushChannelSecret(text)) == nil
                ? "is not \(PushChannelSecret.length) characters of base64url" : nil
        default:
            return text.unicodeScalars.contains { $0.value <= 0x20 || $0.value == 0x7F }
                ? "holds a space or a control character" : nil
        }
    }

    private static func isURI(_ text: String, schemes: [String]) -> Bool {
        guard let separator = text.range(ofASCII: "://"),
            schemes.contains(text[..<separator.lowerBound].lowercased()),
            let first = text[separator.upperBound...].unicodeScalars.first, !"/?#".unicodeScalars.contains(first)
        else { return false }
        return text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    private static func isBase64URL(_ text: String) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.isASCIILetterOrDigit || "-_+/=".unicodeScalars.contains($0)
            }
    }
}

extension PlatformRules {
    private func check(_ template: InstallationTemplate, at label: String, _ problems: inout ProblemList) {
        checkBody(template, at: label, &problems)
        for (name, value) in template.headers.sorted(by: { $0.key < $1.key }) {
            do {
                _ = try TemplateExpression(parsing: value)
            } catch {
                problems.add("\(label)/headers/\(name.excerpt): \(error)")
            }
            if platform == .apns, !name.lowercased().hasPrefix("apns-") {
                problems.add("\(label)/headers/\(name.excerpt): a header of platform apns begins with 'apns-'")
            }
        }
        if platform == .wns, header("X-WNS-Type", of: template) == nil {
            problems.add("\(label)/headers lack X-WNS-Type, which platform wns needs")
        }
        if let expiry = template.expiry { checkExpiry(expiry, at: "\(label)/expiry", &problems) }
    }

    private func checkBody(_ template: InstallationTemplate, at label: String, _ problems: inout ProblemList) {
        // A raw notification of Windows is the app's own business, so it may be JSON as well.
        let isRaw = header("X-WNS-Type", of: template)?.lowercased() == "wns/raw"
        do {
            let syntax = try Template(parsing: template.body).syntax
            if platform.takesXML ? (syntax == .json && !isRaw) : syntax == .xml {
                let wanted = platform.takesXML ? "an XML document" : "a JSON object"
                problems.add("\(label)/body is not \(wanted), which platform \(platform) needs")
            }
        } catch {
            problems.add("\(label)/body: \(error)")
        }
    }

    private func header(_ name: String, of template: InstallationTemplate) -> String? {
        template.headers.first { $0.key.lowercased() == name.lowercased() }?.value
    }

    /// An expression, a date-time or `0`, which means at once (protocol §3.8, §7.4).
    private func checkExpiry(_ expiry: String, at label: String, _ problems: inout ProblemList) {
        do {
            let expression = try TemplateExpression(parsing: expiry)
            if expression.isLiteral, expiry != "0", ISODateTime.parse(expiry) == nil {
                problems.add("\(label) '\(expiry.excerpt)' is neither an expression, nor a date-time, nor 0")
            }
        } catch {
            problems.add("\(label): \(error)")
        }
    }
}
