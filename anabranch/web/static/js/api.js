// Requests to the service, with its token when there is one; what it refuses becomes an ApiError.

const KEY = "anabranch-token";

export class ApiError extends Error {
  constructor(status, { code = null, message, detail = null, hint = null }) {
    super(message);
    Object.assign(this, { status, code, detail, hint });
  }

  get unauthorized() {
    return this.status === 401;
  }

  /** Nobody answered, as opposed to somebody refusing. */
  get gone() {
    return this.status === 0;
  }
}

// Without storage (it may be forbidden) the token lives as long as the page.
let held = null;

export const token = {
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? held;
    } catch {
      return held;
    }
  },
  set(value) {
    held = value;
    try {
      if (value === null) sessionStorage.removeItem(KEY);
      else sessionStorage.setItem(KEY, value);
    } catch {
      // It stays in `held`.
    }
  },
};

export function headers(more = {}) {
  const known = token.get();
  return known ? { ...more, Authorization: `Bearer ${known}` } : more;
}

/** A name as it stands in a path. */
export const quoted = (name) => encodeURIComponent(name);

export const get = (path) => request(path, { headers: headers({ Accept: "application/json" }) }, takeEarly(path));

/** The answer that `early.js` asked for, once. */
function takeEarly(path) {
  const answer = window.early?.get(path) ?? null;
  window.early?.delete(path);
  return answer;
}

export const post = (path, body = {}) =>
  request(path, {
    method: "POST",
    headers: headers({ Accept: "application/json", "Content-Type": "application/json" }),
    body: JSON.stringify(body),
  });

async function request(path, options, early = null) {
  let response;
  try {
    response = await (early ?? fetch(`/api/v1/${path}`, { ...options, cache: "no-store", redirect: "error" }));
  } catch {
    throw new ApiError(0, { message: "The service does not answer.", hint: "Is `anabranch serve` still running?" });
  }
  if (response.ok) return response.json();
  throw await refusal(response);
}

/** The error that a response carries. */
export async function refusal(response) {
  let error = null;
  try {
    ({ error } = await response.json());
  } catch {
    // Not one of ours: a proxy's page, say.
  }
  return new ApiError(response.status, {
    message: `The service answered ${response.status} ${response.statusText}`.trim(),
    ...(error ?? {}),
  });
}
