//! The schema as plain rows, for comparison with frozen tables.

use super::{Kind, Label, Schema};

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// Path of the `.proto` file.
    pub file: String,
    /// Full name of the message.
    pub message: String,
    /// Number, name, label, type; `None` if the message has no fields.
    pub field: Option<(u32, String, &'static str, String)>,
    /// `oneof=NAME`, `packed`, `deprecated`, joined by `,`; `empty` without a field.
    pub options: String,
}

/// One value of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumRow {
    /// Path of the `.proto` file.
    pub file: String,
    /// Full name of the enum.
    pub name: String,
    /// The value's number.
    pub number: i32,
    /// The value's name.
    pub value: String,
}

/// One method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// Path of the `.proto` file.
    pub file: String,
    /// Full name of the service.
    pub service: String,
    /// Name of the method.
    pub method: String,
    /// Full name of the request message.
    pub request: String,
    /// Full name of the response message.
    pub response: String,
    /// Whether responses stream.
    pub streaming: bool,
}

/// A whole schema.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Rows {
    /// Fields, in order of declaration.
    pub fields: Vec<FieldRow>,
    /// Enum values, in order of declaration.
    pub enums: Vec<EnumRow>,
    /// Methods, in order of declaration.
    pub methods: Vec<MethodRow>,
}

pub(crate) fn rows(schema: &Schema) -> Rows {
    let mut rows = Rows::default();
    for message in &schema.messages {
        let file = schema.files[message.file].path.clone();
        let name = message.path.full();
        if message.fields.is_empty() {
            rows.fields.push(FieldRow {
                file,
                message: name,
                field: None,
                options: "empty".into(),
            });
            continue;
        }
        for field in &message.fields {
            let label = match field.label {
                Label::Optional | Label::Implicit => "optional",
                Label::Required => "required",
                Label::Repeated => "repeated",
            };
            let kind = match field.kind {
                Kind::Message(id) => format!("message {}", schema.messages[id.0].path.full()),
                Kind::Enum(id) => format!("enum {}", schema.enums[id.0].path.full()),
                kind => kind.keyword().to_owned(),
            };
            let mut options = Vec::new();
            options.extend(field.oneof.map(|at| format!("oneof={}", message.oneofs[at].name)));
            options.extend(field.packed.then(|| "packed".to_owned()));
            options.extend(field.deprecated.then(|| "deprecated".to_owned()));
            rows.fields.push(FieldRow {
                file: file.clone(),
                message: name.clone(),
                field: Some((field.number, field.name.clone(), label, kind)),
                options: options.join(","),
            });
        }
    }
    for e in &schema.enums {
        rows.enums.extend(e.values.iter().map(|v| EnumRow {
            file: schema.files[e.file].path.clone(),
            name: e.path.full(),
            number: v.number,
            value: v.name.clone(),
        }));
    }
    for file in &schema.files {
        for service in &file.services {
            rows.methods.extend(service.methods.iter().map(|m| MethodRow {
                file: file.path.clone(),
                service: service.path.full(),
                method: m.name.clone(),
                request: schema.messages[m.request.0].path.full(),
                response: schema.messages[m.response.0].path.full(),
                streaming: m.streaming,
            }));
        }
    }
    rows
}
