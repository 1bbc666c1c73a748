import Formats

extension Registration {
    /// The description alone, on one line: the content of an entry, and a line of an export (protocol §8.1).
    package var encodedDescription: [UInt8] {
        var output = XMLOutput(reserving: 512)
        RegistrationWriter.append(self, to: &output)
        return output.bytes
    }

    /// The Atom entry by which a client creates or replaces this registration.
    package var encodedEntry: [UInt8] {
        var output = XMLOutput(reserving: 768)
        output.raw("<entry xmlns=\"\(AtomNames.atom)\"><content type=\"application/xml\">")
        RegistrationWriter.append(self, to: &output)
        output.raw("</content></entry>")
        return output.bytes
    }

    /// The value of the header `ETag`, and of the attribute of an entry.
    package var entityTag: String { "W/\"\(etag)\"" }
}

/// Writes descriptions in the order of elements that the .NET SDK needs: it loses an element in another place.
///
/// Source: protocol §0.8, §3.7.
enum RegistrationWriter {
    static func append(_ registration: Registration, to output: inout XMLOutput) {
        let type = RegistrationType.of(registration.platform, isFcm: registration.isFcm)
        let root = registration.template == nil ? type?.nativeRoot : type?.templateRoot
        // No client can have registered it; the base type shows at least that it exists.
        let name = root ?? RegistrationType.base
        output.raw("<")
        output.raw(name)
        output.raw(namespaces)
        appendHead(of: registration, to: &output)
        if let type {
            appendHandle(of: registration, type, to: &output)
            if let template = registration.template { append(template, type, to: &output) }
        }
        output.raw("</")
        output.raw(name)
        output.raw(">")
    }

    private static let namespaces = " xmlns=\"\(AtomNames.serviceBus)\" xmlns:i=\"\(AtomNames.instance)\">"

    private static func appendHead(of registration: Registration, to output: inout XMLOutput) {
        output.raw("<ETag>")
        output.raw(String(registration.etag))
        output.raw("</ETag><ExpirationTime>")
        if let date = registration.expirationTime {
            output.raw(ISODateTime.formatMilliseconds(date))
        } else {
            output.raw("9999-12-31T23:59:59.999Z")
        }
        output.raw("</ExpirationTime><RegistrationId>")
        output.raw(registration.id.text)
        output.raw("</RegistrationId>")
        if !registration.tags.isEmpty || registration.listedName != nil {
            output.element(RegistrationField.tags.name) { output in
                for (index, tag) in registration.tags.enumerated() {
                    if index > 0 { output.raw(",") }
                    output.raw(tag.text)
                }
                guard let name = registration.listedName else { return }
                if !registration.tags.isEmpty { output.raw(",") }
                output.text(name)
            }
        }
        if !registration.pushVariables.isEmpty {
            output.element(RegistrationField.pushVariables.name, JSONText(sorted: registration.pushVariables).text)
        }
    }

    private static func appendHandle(
        of registration: Registration,
        _ type: RegistrationType,
        to output: inout XMLOutput
    ) {
        for (field, text) in zip(type.handleFields, handle(of: registration)) { output.element(field.name, text) }
        if type.hasSecondaryTiles, let tile = registration.secondaryTileName {
            output.element(RegistrationField.secondaryTileName.name, tile)
        }
    }

    /// The texts of the type's handle fields.
    private static func handle(of registration: Registration) -> [String] {
        switch registration.pushChannel {
        case .browser(let browser): return [browser.endpoint, browser.p256dh, browser.auth]
        case .handle(let text):
            guard registration.platform == .baidu else { return [text] }
            let parts = text.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
            // Both elements have to be there for the .NET SDK, whatever an installation had for its channel.
            return [String(Substring(parts[0])), parts.count > 1 ? String(Substring(parts[1])) : ""]
        }
    }

    private static func append(_ template: RegistrationTemplate, _ type: RegistrationType, to output: inout XMLOutput) {
        output.element(RegistrationField.bodyTemplate.name) { $0.cdata(template.body) }
        let isApple = type.platform == .apns
        if isApple {
            if let expiry = template.expiry {
                output.element(RegistrationField.expiry.name, expiry)
            } else {
                output.raw("<Expiry i:nil=\"true\"/>")
            }
        } else if let field = type.headerField {
            append(template.headers, as: field, to: &output)
        }
        if !template.name.isEmpty { output.element(RegistrationField.templateName.name, template.name) }
        if isApple {
            if let priority = template.priority { output.element(RegistrationField.priority.name, priority) }
            append(template.headers, as: .apnsHeaders, to: &output)
        }
        if type.platform == .baidu, let messageType = template.messageType {
            output.element(RegistrationField.messageType.name, messageType)
        }
    }

    /// Sorted by name in any case, as the service's own collections are.
    private static func append(
        _ headers: [String: String],
        as field: RegistrationField,
        to output: inout XMLOutput
    ) {
        guard !headers.isEmpty else { return output.emptyElement(field.name) }
        let item = String(field.name.dropLast())
        let sorted = headers.sorted { ($0.key.lowercased(), $0.key) < ($1.key.lowercased(), $1.key) }
        output.element(field.name) { output in
            for (name, value) in sorted {
                output.element(item) { output in
                    output.element("Header", name)
                    output.element("Value", value)
                }
            }
        }
    }
}
