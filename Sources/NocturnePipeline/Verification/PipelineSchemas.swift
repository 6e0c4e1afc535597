package import NocturneCore

/// The schemas of what the pipeline writes, as they lie in `Schemas` beside it: part of the program, so that it needs
/// nothing else to hold a batch against them.
package enum PipelineSchemas {
    package static let batch = schema(PackageResources.batch_schema_json)
    package static let run = schema(PackageResources.run_schema_json)
    package static let event = schema(PackageResources.event_schema_json)
    package static let verification = schema(PackageResources.verification_schema_json)

    /// They are the program's own, and a test reads each of them.
    private static func schema(_ bytes: [UInt8]) -> JSONSchema {
        do {
            return try JSONSchema(bytes)
        } catch {
            preconditionFailure("a schema of the program itself: \(error)")
        }
    }
}
