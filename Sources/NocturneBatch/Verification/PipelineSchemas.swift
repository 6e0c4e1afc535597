package import NocturneSystem

/// The schemas of what the pipeline writes, as they lie in `Schemas` beside it: part of the program, so that it needs
/// nothing else to hold a batch against them.
package enum PipelineSchemas {
    package static let batch = JSONSchema(own: PackageResources.batch_schema_json)
    package static let run = JSONSchema(own: PackageResources.run_schema_json)
    package static let event = JSONSchema(own: PackageResources.event_schema_json)
    package static let verification = JSONSchema(own: PackageResources.verification_schema_json)
}
