// Times of the desk in the browser's zone: the form has and sends UTC.
const two = (number) => String(number).padStart(2, "0");

function local(date) {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

for (const field of document.querySelectorAll("input[type=datetime-local]")) {
  document.getElementById("zone").textContent = `(${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
  const date = new Date(`${field.value.replace(/Z$/, "")}Z`);
  if (field.value && !Number.isNaN(date.getTime())) field.value = local(date);
  field.form.addEventListener("formdata", ({ formData }) => {
    const chosen = new Date(field.value);
    if (!Number.isNaN(chosen.getTime())) formData.set(field.name, chosen.toISOString().slice(0, 16));
  });
}
