import Formats
import FoundationEssentials

/// Rules for a template on one platform, the same for installations and registrations.
///
/// Source: protocol §3.8, §7.4.
struct TemplateRules {
    let platform: Platform
    let places: TemplatePlaces

    func check(_ template: RegistrationTemplate, _ problems: inout ProblemList) {
        checkBody(template, &problems)
        checkHeaders(template.headers, &problems)
        if let expiry = template.expiry {
            check(expiry, at: places.expiry, isLiteral: Self.isExpiry, wanted: "a date-time, nor 0", &problems)
        }
        if let priority = template.priority { checkPriority(priority, at: places.priority, &problems) }
        // The .NET SDK reads a number here; if one entry of a feed has none, it reads no entry of the feed.
        if let type = template.messageType, Int32(type) == nil {
            problems.add("MessageType '\(type.excerpt)' is not a whole number")
        }
    }

    private func checkBody(_ template: RegistrationTemplate, _ problems: inout ProblemList) {
        do {
            let syntax = try Template(parsing: template.body).syntax
            // Platforms of XML accept either, as recorded from the service: a raw notification is the app's own
            // business.
            if syntax == .xml, !platform.takesXML {
                problems.add("\(places.body) is not a JSON object, which platform \(platform) needs")
            }
        } catch {
            problems.add("\(places.body): \(error)")
        }
    }

    private func checkHeaders(_ headers: [String: String], _ problems: inout ProblemList) {
        if platform == .wns, !headers.keys.contains(where: { $0.lowercased() == "x-wns-type" }) {
            problems.add("\(places.headers) lack X-WNS-Type, which platform wns needs")
        }
        guard !headers.isEmpty else { return }
        var seen: Set<String> = []
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            check(header: name, value, &problems)
            if !seen.insert(name.lowercased()).inserted {
                problems.add("\(places.headers)/\(name.excerpt) differs from another only in case")
            }
        }
    }

    private func check(header name: String, _ value: String, _ problems: inout ProblemList) {
        let place = "\(places.headers)/\(name.excerpt)"
        if !Self.isToken(name) { problems.add("\(place): a header's name may contain only letters, digits and -_.") }
        // A line end would begin another header on the way to the push service.
        if value.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) {
            problems.add("\(place) contains a control character")
        }
        switch (platform, name.lowercased()) {
        case (.apns, "apns-priority"): return checkPriority(value, at: place, &problems)
        case (.apns, "apns-expiration"):
            check(value, at: place, isLiteral: { Int64($0) != nil }, wanted: "a time in seconds since 1970", &problems)
        default:
            do {
                _ = try TemplateExpression(parsing: value)
            } catch {
                problems.add("\(place): \(error)")
            }
        }
        if platform == .apns, !name.lowercased().hasPrefix("apns-") {
            problems.add("\(place): a header of platform apns must begin with 'apns-'")
        }
    }

    private func checkPriority(_ text: String, at place: String, _ problems: inout ProblemList) {
        check(text, at: place, isLiteral: { UInt8($0) != nil }, wanted: "a number from 0 to 255", &problems)
    }

    /// An expression, or a literal of one kind.
    private func check(
        _ text: String,
        at place: String,
        isLiteral: (String) -> Bool,
        wanted: String,
        _ problems: inout ProblemList
    ) {
        do {
            if try TemplateExpression(parsing: text).isLiteral, !isLiteral(text) {
                problems.add("\(place) '\(text.excerpt)' is neither an expression, nor \(wanted)")
            }
        } catch {
            problems.add("\(place): \(error)")
        }
    }

    /// `0` means at once (protocol §7.4).
    private static func isExpiry(_ text: String) -> Bool { text == "0" || ISODateTime.parse(text) != nil }

    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty && name.hasOnlyLettersAndDigits(or: "-_.")
    }
}

/// Names of the parts of a template in problems: their places in the document that was sent.
struct TemplatePlaces {
    let body: String
    let headers: String
    let expiry: String
    let priority: String

}

extension TemplatePlaces {
    /// Below a path of an installation.
    init(installation path: String) {
        self.init(
            body: "\(path)/body",
            headers: "\(path)/headers",
            expiry: "\(path)/expiry",
            priority: "\(path)/priority"
        )
    }
}
