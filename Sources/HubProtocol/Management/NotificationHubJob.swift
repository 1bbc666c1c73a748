import Formats
import FoundationEssentials
import Markup

/// A job of a hub that handles many registrations: an export, or one of the imports (protocol §8.1).
package struct NotificationHubJob: Sendable, Equatable {
    /// Maximum size of a request's body in bytes.
    package static let maximumBytes = 64 << 10
    /// Maximum length of an address or of an input property in characters.
    package static let maximumText = 4_096
    static let maximumInputProperties = 32

    package enum Kind: String, Sendable, CaseIterable, Codable {
        case exportRegistrations = "ExportRegistrations"
        case importCreateRegistrations = "ImportCreateRegistrations"
        case importUpdateRegistrations = "ImportUpdateRegistrations"
        case importDeleteRegistrations = "ImportDeleteRegistrations"
        case importUpsertRegistrations = "ImportUpsertRegistrations"
    }

    package enum Status: String, Sendable, CaseIterable, Codable {
        /// Accepted, and waiting.
        case started = "Started"
        case running = "Running"
        case completed = "Completed"
        case failed = "Failed"

        package var isFinished: Bool { self == .completed || self == .failed }
    }

    /// A client's request for a job.
    package struct Request: Sendable, Equatable, Codable {
        package let kind: Kind
        package let outputContainerURI: String
        package let importFileURI: String?
        package let inputProperties: [String: String]

        package init(
            kind: Kind,
            outputContainerURI: String,
            importFileURI: String? = nil,
            inputProperties: [String: String] = [:]
        ) {
            self.kind = kind
            self.outputContainerURI = outputContainerURI
            self.importFileURI = importFileURI
            self.inputProperties = inputProperties
        }
    }

    package let id: String
    package let request: Request
    package var status: Status
    /// Hundredths of a percent, 0 to 10,000.
    package var progress: Int
    /// The reason why it failed, or was not completed.
    package var failure: String?
    /// The addresses of its files, by kind.
    package var outputProperties: [String: String]
    package let createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        id: String,
        request: Request,
        status: Status = .started,
        progress: Int = 0,
        failure: String? = nil,
        outputProperties: [String: String] = [:],
        createdAt: Timestamp,
        updatedAt: Timestamp
    ) {
        self.id = id
        self.request = request
        self.status = status
        self.progress = progress
        self.failure = failure
        self.outputProperties = outputProperties
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }

    /// Returns a new id in the service's form: the time left in .NET's calendar in units of 100 ns, and a random part,
    /// so that the newest job comes first when ids are sorted.
    package static func newID(at now: Timestamp) -> String {
        let ticks = 621_355_968_000_000_000 + now.milliseconds * 10_000
        return "\(3_155_378_975_999_999_999 - ticks)\(UUID().uuidString.lowercased())"
    }

    package static let outputFilePath = "OutputFilePath"
    package static let failedFilePath = "FailedFilePath"
}

// MARK: - Reading

extension NotificationHubJob.Request {
    /// Reads a request's body.
    ///
    /// - Throws: ``ProtocolError`` 400 with the problem and its element.
    package init(xml body: [UInt8]) throws(ProtocolError) {
        let job = try ManagementDocument.description(named: "NotificationHubJob", in: body)
        guard let type = job.first("Type")?.value else { throw .badRequest("The job has no Type.") }
        guard
            let kind = NotificationHubJob.Kind.allCases.first(where: { $0.rawValue.lowercased() == type.lowercased() })
        else {
            let known = NotificationHubJob.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("The job's Type '\(type.excerpt)' is not one of \(known).")
        }
        guard let output = job.first("OutputContainerUri")?.value else {
            throw .badRequest(
                "The job has no OutputContainerUri; any address will do, since files stay with this hub."
            )
        }
        let source = job.first("ImportFileUri")?.value
        guard kind == .exportRegistrations || source != nil else {
            throw .badRequest("An import needs an ImportFileUri: the name of a file in this hub's folder for jobs.")
        }
        guard [output, source ?? ""].allSatisfy({ $0.unicodeScalars.count <= NotificationHubJob.maximumText }) else {
            throw .badRequest("An address of the job is longer than \(NotificationHubJob.maximumText) characters.")
        }
        self.init(
            kind: kind,
            outputContainerURI: output,
            importFileURI: source,
            inputProperties: try Self.properties(job.first("InputProperties"))
        )
    }

    private static func properties(_ element: XMLElement?) throws(ProtocolError) -> [String: String] {
        var properties: [String: String] = [:]
        guard let element else { return properties }
        for pair in element.children where pair.name == "KeyValueOfstringstring" {
            guard let key = pair.first("Key")?.value else { continue }
            let value = pair.first("Value")?.value ?? ""
            guard properties.count < NotificationHubJob.maximumInputProperties,
                key.unicodeScalars.count + value.unicodeScalars.count <= NotificationHubJob.maximumText
            else { throw .badRequest("The job's InputProperties are too large.") }
            properties[key] = value
        }
        return properties
    }
}

// MARK: - XML

extension NotificationHubJob {
    /// The elements in the order that .NET reads; as in the service, a job that has not begun has neither progress nor
    /// status.
    package var xml: String {
        var parts = ["<JobId>\(XMLText.escaped(id))</JobId>"]
        if progress > 0 { parts.append("<Progress>\(progressText)</Progress>") }
        parts.append("<Type>\(request.kind.rawValue)</Type>")
        if status != .started { parts.append("<Status>\(status.rawValue)</Status>") }
        parts.append("<OutputContainerUri>\(XMLText.escaped(request.outputContainerURI))</OutputContainerUri>")
        if let source = request.importFileURI {
            parts.append("<ImportFileUri>\(XMLText.escaped(source))</ImportFileUri>")
        }
        parts.append(Self.xml(request.inputProperties, "InputProperties"))
        if let failure { parts.append("<Failure>\(XMLText.escaped(failure))</Failure>") }
        parts.append(Self.xml(outputProperties, "OutputProperties"))
        parts.append("<CreatedAt>\(createdAt.precise)</CreatedAt>")
        parts.append("<UpdatedAt>\(updatedAt.precise)</UpdatedAt>")
        return "<NotificationHubJob xmlns=\"\(AtomNames.serviceBus)\""
            + " xmlns:i=\"\(AtomNames.instance)\">\(parts.joined())</NotificationHubJob>"
    }

    /// `99.99`, a decimal of .NET.
    private var progressText: String {
        let (whole, rest) = progress.quotientAndRemainder(dividingBy: 100)
        return rest == 0 ? "\(whole)" : "\(whole).\(CivilTime.padded(rest, 2))"
    }

    /// Returns an empty text if there are no properties; the prefix is the one that the Java client expects.
    private static func xml(_ properties: [String: String], _ element: String) -> String {
        guard !properties.isEmpty else { return "" }
        let order = [outputFilePath, failedFilePath]
        let pairs = properties.sorted { left, right in
            (order.firstIndex(of: left.key) ?? order.count, left.key)
                < (order.firstIndex(of: right.key) ?? order.count, right.key)
        }
        let written = pairs.map { key, value in
            "<d3p1:KeyValueOfstringstring><d3p1:Key>\(XMLText.escaped(key))</d3p1:Key>"
                + "<d3p1:Value>\(XMLText.escaped(value))</d3p1:Value></d3p1:KeyValueOfstringstring>"
        }
        return "<\(element) xmlns:d3p1=\"\(ManagementDocument.arraysNamespace)\">\(written.joined())</\(element)>"
    }

    /// Returns the job's entry; `hub` is its hub's address, and `query` the request's, with its question mark.
    package func entry(of hub: String, query: String) -> ManagementEntry {
        ManagementEntry(
            address: "\(hub)/jobs/\(id)\(query)",
            title: id,
            publishedAt: createdAt,
            updatedAt: updatedAt,
            author: nil,
            content: xml
        )
    }
}
