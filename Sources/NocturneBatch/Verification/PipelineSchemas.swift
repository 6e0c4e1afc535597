package import NocturneSystem

/// The schemas of what this module writes, from the folder `Schemas`: part of the program, so that checking a batch needs
/// no other files.
package enum PipelineSchemas {
    package static let batch = JSONSchema(own: PackageResources.batch_schema_json)
    package static let run = JSONSchema(own: PackageResources.run_schema_json)
    package static let event = JSONSchema(own: PackageResources.event_schema_json)
    package static let verification = JSONSchema(own: PackageResources.verification_schema_json)
}
